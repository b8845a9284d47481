"""Sources in an episode of text: what they say, and as what it counts."""

import io
from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest

from afk.envs.registry import world_of
from afk.knowledge.catalogue import find_source
from afk.knowledge.facts import ON_THE_SPOT
from afk.knowledge.human import Human
from afk.knowledge.source import NOT_UNDERSTOOD, Facts, KnowledgeSource
from afk.play import Player
from afk.play.episode import Episode
from afk.play.informant import Informant

from ..small_games import small_game
from .levels import fresh, play_through


def told_by(source: KnowledgeSource, env: Any, state: Any, **options: Any) -> Episode:
    return Episode(env, state, informant=Informant(source, env, state, seed=0), **options)


def known(env: Any, state: Any) -> Facts:
    facts = world_of(env).facts
    assert facts is not None
    return facts(state)


def counts(episode: Episode) -> list[Any]:
    return [*map(int, jax.tree.leaves(episode.stats)), episode.invalid, episode.labels, episode.success]


@pytest.mark.parametrize("task", ["C", pytest.param("SDH", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["oracle", "sql", "documents"])
def test_the_expert_reads_the_same_and_it_counts_the_same(name: str, task: str) -> None:
    ((env, state),) = fresh(task)
    plain, told = Episode(env, state, macros=True), told_by(find_source(name), env, state, macros=True)
    for episode in (plain, told):
        for question in ("what key", "what is the yellow ball", "where kitchen", "where kitchen", "sing"):
            episode.ask(question)
    assert plain.observation == told.observation and counts(plain) == counts(told)
    assert play_through(plain) == play_through(told)
    assert counts(plain) == counts(told) and told.success and told.stats.good == told.stats.wanted


def test_a_kitchen_is_told_of_as_well() -> None:
    env = small_game()
    state = jax.tree.map(lambda leaf: leaf[0], env.draw_many(jax.random.key(0), 1))
    names = [" ".join(word for word in fact.words if word != "none") for fact in known(env, state).rows[:4]]
    episodes = [Episode(env, state), *(told_by(find_source(name), env, state) for name in ("oracle", "sql"))]
    for question in (*names, "where green apple", "sing", "take it"):
        one, *others = [episode.ask(question) for episode in episodes]
        assert others == [one, one], question
    one, *others = map(counts, episodes)
    assert others == [one, one] and one[:2] == [7, 5]
    other = told_by(Human(reads=io.StringIO("over there\n"), writes=io.StringIO()), env, state)
    assert "over there" in other.ask(names[0])


@pytest.mark.parametrize("name", ["oracle", "sql", "documents"])
def test_what_is_known_at_one_place_is_told_once_it_is_reached(name: str) -> None:
    ((env, there),) = fresh("C")
    scope = np.where(np.asarray(there.facts.keys)[:, 0] == 0, ON_THE_SPOT, there.facts.scope)
    elsewhere = replace(there, facts=replace(there.facts, scope=scope))
    fact = next(each for each in known(env, there).rows if each.words[0] == "what")
    informant = Informant(find_source(name), env, elsewhere, seed=0)
    before, after = (informant.ask(state, " ".join(fact.words)) for state in (elsewhere, there))
    assert before is not None and before.in_vain and after is not None and not after.in_vain


QUESTIONS = {
    "toy": "Which toy does {} like best?",
    "ball": "where did somebody leave the {} ball?",
    "suitcase": "tell me what's in {}'s suitcase",
}


@pytest.mark.parametrize("source", ["oracle", "sql", "documents"])
def test_natural_questions_get_every_good_answer(source: str) -> None:
    for env, state in fresh("C", 3):
        episode = told_by(find_source(source), env, state)
        good = [tuple(int(each) for each in key) for key in state.level.good_queries if key[0] >= 0]
        words = env.vocabulary
        for number, (_, adjective, noun) in enumerate(good, 1):
            name = words.adjectives[adjective]
            (fact,) = [each for each in known(env, state).rows if each.words[1:] == (name, words.nouns[noun])]
            assert fact.answer in episode.ask(QUESTIONS[words.nouns[noun]].format(name))
            assert episode.stats.good == episode.stats.queries == number and not episode.invalid
        assert episode.labels == ["good"] * len(good)


def test_an_answer_counts_for_every_wanted_fact_that_it_reveals() -> None:
    kitchen = small_game(ingredients=2)
    game = jax.tree.map(lambda leaf: leaf[0], kitchen.draw_many(jax.random.key(0), 1))
    for env, state in (*fresh("C", 2), (kitchen, game)):
        episode = told_by(find_source("sql"), env, state)
        episode.ask("select answer from facts order by row desc")
        assert episode.labels == ["good"] and episode.stats.good == episode.stats.wanted > 1
        assert episode.stats.queries == episode.stats.steps == 1
    ((env, state),) = fresh("C")  # where nothing is known of a red ball, but in the kitchen it is named
    episode = told_by(find_source("documents"), env, state)
    assert "jack suitcase is blue box" in episode.ask("what is the red ball") and episode.labels == ["good"]


def test_what_a_source_does_not_tell_counts_for_nothing() -> None:
    ((env, state),) = fresh("C")
    wanted = state.level.good_queries[0]
    owner = env.vocabulary.adjectives[int(wanted[1])]
    (toy,) = [fact.answer for fact in known(env, state).rows if fact.words == ("what", owner, "toy")]
    person = Human(reads=io.StringIO(f"-\nlook around\n{toy}\n"), writes=io.StringIO())
    episode = told_by(person, env, state)
    assert 'The answer: "i dont"' in episode.ask(f"what {owner} toy")
    assert 'The answer: "look around"' in episode.ask("what shall I do?")
    assert (episode.stats.queries, episode.stats.good, episode.invalid) == (2, 0, 0)
    assert toy in episode.ask("and what would you like to tell me?"), "what is told counts, not the words"
    assert (episode.stats.queries, episode.stats.good) == (3, 1)
    assert episode.labels == ["unanswered", "unanswered", "good"]


def test_a_player_asks_whom_it_names() -> None:
    player = Player()
    first = player.reset("C", source="sql")
    assert first == Player().reset("C")
    name = first.split("Your task: find ")[1].split()[0]
    said = player.ask(f"select answer from facts where adjective = '{name}' and noun = 'toy'")
    assert f'The answer: "{name} toy is' in said
    assert "Invalid" in player.ask("sing") and NOT_UNDERSTOOD not in player.ask("where kitchen")
    with pytest.raises(ValueError, match="'sqll'; it is one of oracle, sql, documents, human, openai:MODEL"):
        player.reset("C", source="sqll")


def test_an_endpoint_that_is_down_takes_no_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    ((env, state),) = fresh("C")
    episode = told_by(find_source("openai:small"), env, state)
    with pytest.raises(ValueError, match=r"openai:small: the endpoint .* cannot be reached"):
        episode.ask("where kitchen")
    assert episode.stats.steps == 0 and not episode.labels
