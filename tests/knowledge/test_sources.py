"""Sources on the host: what they answer, and what happens to bad questions and people."""

import io
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import afk
from afk.envs.asking import Asking
from afk.envs.qbabyai.environment import GridWorld
from afk.envs.qbabyai.world.asking import ask_oracle
from afk.envs.registry import make
from afk.knowledge.catalogue import SOURCES, find_source
from afk.knowledge.documents import Documents, write_pile
from afk.knowledge.human import Human
from afk.knowledge.source import NOT_UNDERSTOOD, Facts
from afk.knowledge.sql import Sql
from afk.knowledge.tabulate import tabulate
from afk.training.build import play_by_plan
from afk.training.config import Config
from afk.training.levels import seed_levels
from afk.training.presets import preset

from .sentences import FACTS, ROWS

QUESTIONS = (
    "What is Jack's toy?",
    "where blue ball",
    "which is mary's suitcase",
    "what key",
    "where red key",
)


@pytest.mark.parametrize("source", [Sql(), *(Documents(distractors=count) for count in (0, 12, 40))])
def test_what_is_true_is_found(source: Any) -> None:
    for seed in range(5):
        with source.open(FACTS, seed) as session:
            answers = session.ask(QUESTIONS)
            assert [answer.text for answer in answers] == [fact.answer for fact in ROWS]
            assert [answer.facts for answer in answers] == [(row,) for row in range(5)]
            unknown, odd = session.ask(["where green ball", "how do you do"])
            assert (unknown.kind, unknown.text, odd.kind) == ("unknown", "i dont know", "unknown")


def test_an_sql_question_reads_and_nothing_else() -> None:
    session = Sql().open(FACTS, 0)
    (told,) = session.ask(["SELECT answer FROM facts WHERE noun = 'key' ORDER BY row"])
    assert told.facts == (3, 4) and told.text == "red key to the door\nred key in room1"
    endless = f"select count(*) from {', '.join(f'facts f{number}' for number in range(14))}"
    blobs = "replace(hex(zeroblob(25000)), '0', 'a'), replace(hex(zeroblob(12000)), '0', 'a')"
    (told,) = session.ask(["SELECT group_concat(upper(answer), '; ') FROM facts"])
    assert told.kind == "told" and told.facts == (0, 1, 2, 3, 4)
    tables = ", ".join(f"facts f{number}" for number in range(8))
    slow = f"select sum(instr('{'a' * 900}', '{'a' * 450}' || f1.row || f2.row)) from {tables}"
    for bad, problem in (
        ("select * from sqlite_master", "prohibited"),
        ("select 1; drop table facts", "one statement"),
        ("with x as (select 1) insert into facts select 1, 1, 1, 1, 1", "not authorized"),
        ("select load_extension('x')", "not authorized"),
        (endless, "too long"),
        (f"select sum(instr({blobs} || f.row)) from facts f, facts g, facts h", "not authorized"),
        (slow, "too long"),
        ("select zeroblob(1000000000)", "not authorized"),
        ("select " + " || ".join(["group_concat(answer)"] * 30) + " from facts", "too big"),
        ("select", "incomplete"),
    ):
        (answer,) = session.ask([bad])
        assert answer.kind == "refused" and problem in answer.text, (bad, answer)
        assert "\n" not in answer.text and answer.seconds < 2
    assert session.ask(["what key"])[0].kind == "told", "the episode goes on"


@pytest.mark.parametrize(
    ("question", "is_sql"),
    [
        ("select 1", True),
        ("SELECT answer\nFROM facts;", True),
        ("select answer from facts where noun = 'key'", True),
        ("select count(*)", True),
        ("select noun from things limit 1", True),
        ("with known as (select answer from facts) select * from known", True),
        ("with recursive x(n) as (select 1) select n from x", True),
        ("with which key can i open the lock", False),
        ("With which key can I open the lock as fast as can be?", False),
        ("select the key that fits the lock", False),
        ("select which key opens the lock from the box, please", False),
        ("selecting from facts", False),
    ],
)
def test_sql_is_told_from_sentences(question: str, is_sql: bool) -> None:
    (answer,) = Sql().open(FACTS, 0).ask([question])
    said_of_sql = answer.kind == "refused" or answer.text not in (ROWS[3].answer, NOT_UNDERSTOOD)
    assert said_of_sql == is_sql, answer


def test_a_pile_is_documents_with_facts_among_other_things() -> None:
    documents, passages = write_pile(ROWS, 3)
    assert (documents, passages) == write_pile(ROWS, 3) != write_pile(ROWS, 4)
    assert sum(bool(each.facts) for each in passages) == 5 and len(passages) == 17
    assert all(any(fact.answer in text for text in documents) for fact in ROWS)
    with Documents(distractors=0).open(EMPTY, 0) as session:
        assert session.ask(["what key"])[0].kind == "unknown", "an empty pile knows nothing"


EMPTY = Facts((), FACTS.functions, FACTS.adjectives, FACTS.nouns, FACTS.unknown, FACTS.refusal)


def test_a_person_answers_until_the_terminal_is_closed() -> None:
    shown = io.StringIO()
    session = Human(
        reads=io.StringIO("4\nBlue ball in Mary suitcase.\nred ball in room2\nI don't know\n\n-\n"),
        writes=shown,
    ).open(FACTS, 0)
    answers = session.ask(["what key"] * 8)
    kinds = ["told"] * 3 + ["unknown"] * 2 + ["refused"] * 3
    assert [each.kind for each in answers] == kinds and not answers[2].facts
    assert [each.facts for each in answers[:2]] == [(3,), (1,)] and "nobody answers" in shown.getvalue()


def test_sources_are_found_by_name() -> None:
    assert set(SOURCES) >= {"oracle", "sql", "documents", "human"}
    assert find_source("openai:small").name == "openai:small"
    with pytest.raises(ValueError, match="unknown source 'sqll'; it is one of oracle, sql"):
        find_source("sqll")


def test_a_tabulated_source_is_the_oracle_where_it_knows_as_much() -> None:
    env = make("SH")
    told = Asking("sql").put_into(env)
    plain, tabled = (jax.device_get(each.draw_many(jax.random.key(0), 2)) for each in (env, told))

    @jax.jit
    def ask_all(state: Any) -> Any:
        queries = jnp.asarray(np.argwhere(np.ones(env.action_sizes[2:])))
        answers = jax.vmap(lambda query: ask_oracle(state, query, jnp.bool_(True)))(queries)
        return answers[0].asked, answers[1]

    for level in range(2):
        ours, theirs = (jax.tree.map(lambda leaf, level=level: leaf[level], each) for each in (plain, tabled))
        for mine, other in zip(ask_all(ours), ask_all(theirs), strict=True):
            np.testing.assert_array_equal(mine, other, "good by words is good by what is revealed")
    with pytest.raises(ValueError, match="may answer otherwise each time"):
        tabulate(Human(), plain.facts, plain.level.good_queries, range(2), env.vocabulary)


@pytest.mark.parametrize(
    ("mode", "least", "most"), [("no-questions", 0.0, 0.2), ("all-told", 1.0, 1.0)], ids=["silenced", "told"]
)
def test_an_agent_without_answers_and_with_all_of_them(mode: str, least: float, most: float) -> None:
    played = afk.evaluate("pretrained", "S", episodes=8, asking=Asking(mode=mode))
    assert played["mode"] == mode and least <= played["success"] <= most and played["recall"] == 0
    assert played.get("refusals", 0) == (played["queries"] if mode == "no-questions" else 0)


def test_training_levels_are_told_by_the_source_of_the_run() -> None:
    config = preset("laptop", ["S"], source="sql", levels=8)
    plain = replace(config, source="oracle")
    assert config.identity != plain.identity == preset("laptop", ["S"], levels=8).identity
    assert Config.from_json(config.to_json()) == config
    told, usual = (seed_levels(each, 24, 0).pool.states.facts for each in (config, plain))
    assert told.reveals is not None is usual.reveals
    with pytest.raises(ValueError, match="human may answer otherwise each time: nobody can be trained"):
        preset("laptop", ["S"], source="human")
    with pytest.raises(ValueError, match="unknown source 'sqll'"):
        preset("laptop", ["S"], source="sqll")


def test_whom_an_expert_asks_does_not_depend_on_who_played_before() -> None:
    usual, told = play_by_plan("S").env, play_by_plan("S", Asking("sql")).env
    assert isinstance(usual, GridWorld) and isinstance(told, GridWorld) and usual == told
    assert usual.source is None and told.source == Sql()


def test_modes_are_for_who_goes_by_answers() -> None:
    for mode in ("no-questions", "all-told"):
        with pytest.raises(ValueError, match=f"expert does not go by answers: mode {mode} is for agents"):
            afk.evaluate("expert", "S", episodes=2, asking=Asking(mode=mode))
    with pytest.raises(ValueError, match="unknown mode 'told'; it is one of no-questions, asking, all-told"):
        Asking(mode="told")
