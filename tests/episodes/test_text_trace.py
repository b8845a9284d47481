"""Episodes of Q-TextWorld: the trace is what happened, and transcript and animation show that."""

import json
import re
from dataclasses import asdict
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from afk.agents.base import ActionEvaluation, Agent, Size
from afk.agents.note_rules import NOTE_STYLES, note_taking
from afk.agents.notebook import Similarity
from afk.agents.reading import Reading
from afk.agents.text_agent import QUERIES, TextAgent
from afk.agents.variants import VARIANTS
from afk.envs.level_pool import draw_pool
from afk.envs.qtextworld.commands import read_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.solver import plan
from afk.envs.qtextworld.world.words import FEEDBACK, FUNCTIONS
from afk.episodes.terminal import CHOICES, show_episode, write_gif
from afk.episodes.trace import Trace
from afk.episodes.tracer import trace_episode
from afk.learning.rollout import Play, act, open_levels, start_actors
from afk.training.evaluate import fresh_keys

TASK = Task("qtextworld/take-2-cut", ingredients=2, cut=True)
SIZE = Size(width=8, head=8, instruction_words=28, notes=8, note_words=12, distinct_notes=0)
SEED = 3


class Memo(NamedTuple):
    line: jax.Array
    value: jax.Array


class Script(Agent):
    """Says (lines, 3) what is written, and has no probabilities."""

    lines: jax.Array
    size: Size = eqx.field(static=True)

    def first_state(self, count: int) -> jax.Array:
        return jnp.zeros((count, 1), jnp.int32)

    def __call__(
        self, state: jax.Array, seen: jax.Array, reading: Reading, starts: jax.Array
    ) -> tuple[jax.Array, Memo]:
        line = jnp.where(starts[0], 0, state[:, 0])
        return line[:, None] + 1, Memo(line[None], jnp.zeros(starts.shape))

    def choose(self, output: Memo, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.lines[output.line], jnp.zeros(output.value.shape)

    def evaluate_actions(self, output: Memo, action: jax.Array, *, pays_for_asking: bool) -> ActionEvaluation:
        raise NotImplementedError


def play_of(bank: Bank, variant: str) -> Play:
    env = QTextWorld(TASK, bank)
    return Play(env, VARIANTS[variant], note_taking(env, Similarity(1), clauses=1))


def new_agent(play: Play) -> TextAgent:
    return TextAgent(play.variant, SIZE, play.env.vocabulary, key=jax.random.key(1))


@pytest.fixture(scope="module")
def play(bank: Bank) -> Play:
    return play_of(bank, "afk")


@pytest.fixture(scope="module")
def trace(play: Play) -> Trace:
    return trace_episode(play, new_agent(play), seed=SEED)


@pytest.fixture(scope="module")
def won(play: Play) -> Trace:
    """An episode of somebody who knows how, but not how likely anything is."""
    assert isinstance(play.env, QTextWorld)
    states = draw_pool(play.env, fresh_keys(SEED)[0], 1).states
    return trace_episode(play, Script(lines=jnp.asarray(plan(play.env, states)[0]), size=SIZE), seed=SEED)


def print_episode(trace: Trace, width: int = 120) -> str:
    printed = StringIO()
    show_episode(Console(width=width, file=printed), trace)
    return printed.getvalue()


def squeeze(text: str) -> str:
    """A text without line breaks, wherever they are."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", ["trace", "won"])
def test_what_is_recorded_is_what_happens_when_the_commands_are_typed(
    name: str, play: Play, request: pytest.FixtureRequest
) -> None:
    episode: Trace = request.getfixturevalue(name)
    env, decode, play_step = play.env, play.env.vocabulary.decode, jax.jit(play.env.step)
    state = episode.steps[0].state
    seen, done, paid = decode(env.observe(state).text), False, 0.0
    assert seen.startswith(episode.instruction) and "collect some" in episode.instruction
    for number, then in enumerate(episode.steps, 1):
        assert then.number == number and not done
        assert then.seen == seen and eqx.tree_equal(jax.device_get(state), then.state)
        np.testing.assert_array_equal(read_command(TASK, then.said), then.action)
        state, time_step = play_step(state, then.action)
        seen = decode(time_step.observation.text)
        assert then.answer == decode(time_step.observation.response)
        assert then.asks == bool(then.answer) == (not then.news)
        assert seen.startswith(then.answer or then.news.split(".")[0])
        for field in ("reward", "terminated", "truncated", "success"):
            assert getattr(then, field) == getattr(time_step, field)
        done, paid = bool(time_step.done), paid + float(time_step.reward)
    assert done and episode.last_seen == seen and episode.is_text
    assert eqx.tree_equal(*jax.device_get((state, episode.last_state)))
    assert episode.stats.steps == len(episode.steps)
    assert f"reward {paid:.2f}" in episode.summary()


def test_words_have_the_probabilities_that_the_agent_chose_them_by(play: Play, trace: Trace) -> None:
    agent, step = new_agent(play), eqx.filter_jit(act)
    level_key, key = fresh_keys(SEED)
    training_levels = open_levels(play, draw_pool(play.env, level_key, 1))
    actors = start_actors(agent, training_levels, 1)
    for then in trace.steps:
        key, act_key = jax.random.split(key)
        actors, _, experience, _ = step(play, agent, training_levels, actors, act_key)
        assert [head.title for head in then.heads] == ["function", "adjective", "noun"]
        assert then.weighed == list(then.heads)
        for head in then.heads:
            chances = list(head.probabilities.values())
            assert sum(chances) == pytest.approx(1, abs=1e-5)
            assert chances == sorted(chances, reverse=True) and head.taken in head.probabilities
        said = np.prod([head.probabilities[head.taken] for head in then.heads])
        assert np.log(said) == pytest.approx(float(experience.log_probability[0]), abs=1e-4)
        assert then.value == pytest.approx(float(experience.value[0]), abs=1e-5)
        functions = then.heads[0].probabilities
        assert then.asking == pytest.approx(sum(functions[word] for word in QUERIES))
    assert {then.asks for then in trace.steps} == {False, True}


def test_the_notebooks_sets_are_disjoint_and_the_first_holds_the_instruction(trace: Trace) -> None:
    before: set[str] = set()
    for then in trace.steps:
        notes = [note for each in then.notebook for note in each]
        assert len(set(notes)) == len(notes) and before <= set(notes) and all(then.notebook)
        assert then.notes == then.notebook[0] and set(then.new) <= set(then.notes)
        assert then.notes[0].split() == [
            word
            for word in trace.instruction.replace("!", "").replace(",", "").replace(".", "").split()
            if word not in NOTE_STYLES["qtextworld"].dropped
        ]
        before = set(notes)
    assert any(then.new for then in trace.steps)


def test_what_has_nothing_to_do_with_the_instruction_is_in_other_sets(play: Play) -> None:
    questions = ["where oven", "how stove", "where stove"]
    lines = jnp.stack([read_command(TASK, f"ask Charlie {each}") for each in questions * 7])
    steps = trace_episode(play, Script(lines=lines, size=SIZE), seed=SEED).steps
    oven, recipe, stove = "oven messy kitchen", "stove uncut uncooked", "stove messy kitchen"
    assert steps[0].notebook[1:] == ((oven,),)
    assert steps[1].notebook[1:] == ((oven,), (recipe,))
    assert steps[2].notebook[1:] == ((oven, recipe, stove),) == steps[-1].notebook[1:]
    assert not any(then.new or len(then.notes) > 1 for then in steps)


def test_an_agent_that_cannot_ask_has_no_words_to_ask_with(bank: Bank) -> None:
    play = play_of(bank, "no-query")
    episode = trace_episode(play, new_agent(play), seed=SEED)
    for then in episode.steps:
        assert then.asking is None and not then.asks
        assert not set(QUERIES) & set(then.heads[0].probabilities)
        assert len(then.heads[2].probabilities) == play.env.action_sizes[2]  # it does not point
    assert "ask 0%" not in print_episode(episode)


def test_a_transcript_has_every_command_answer_note_and_word(trace: Trace) -> None:
    text = print_episode(trace, 200)
    room, *shown = re.split(r"\n(?=\d+ \w)", text)
    assert squeeze(trace.steps[0].seen) in squeeze(room)
    for then, lines in zip(trace.steps, shown, strict=True):
        answer = f' "{then.answer}"' if then.asks else f"\n  {then.news}"
        assert lines.startswith(f"{then.number} {then.said}{answer}")
        assert ("A0: " in lines) == then.asks and all(f"+ {note}" in lines for note in then.new)
        for choice in (choice for head in then.heads for choice in head.likeliest(CHOICES)):
            assert re.search(rf"\b{choice.word} +█* +{choice.probability:.0%}", lines)
        assert f"ask {then.asking:.0%}" in lines
    assert "out of time after 20 steps" in shown[-1]
    assert max(map(len, print_episode(trace, 60).splitlines())) <= 60


def test_an_agent_without_probabilities_is_shown_without_them(won: Trace) -> None:
    text, position = print_episode(won), 0
    for then in won.steps:
        assert then.heads == () and then.asking is None
        position = text.index(f"{then.number} {then.said}", position)
        assert (f'"{then.answer}"' if then.asks else then.news) in squeeze(text[position:])
    assert won.ending == "success" and "success after" in text and "reward 1.00" in text
    assert "█" not in text and "%" not in text.partition("success after")[0]
    # What to use for a recipe is a note of its own, which may belong to where something is.
    assert sum(len(then.new) for then in won.steps) == text.count("+ ") >= TASK.good_queries


def test_news_are_the_feedback_and_what_was_not_to_be_seen_before(won: Trace) -> None:
    for then, after in pairwise(won.steps):
        if then.asks:
            continue
        verb, name = then.said.split(" ", 1)
        feedback, *described = then.news.split(". ")
        assert f"{feedback}." == FEEDBACK[FUNCTIONS.index(verb)].lower()
        assert all(each not in then.seen and each in after.seen for each in described)
        if verb == "take":
            assert described[-1].startswith("you are carrying:") and name in described[-1]
        assert len(then.news) < len(then.seen) / 2
    assert {then.said.split()[0] for then in won.steps} >= {"ask", "open", "take"}


def test_a_record_can_be_written_as_json(trace: Trace) -> None:
    read = json.loads(json.dumps(asdict(trace), default=np.ndarray.tolist))
    for then, step in zip(read["steps"], trace.steps, strict=True):
        assert then["seen"] == step.seen and then["said"] == step.said
        assert then["notebook"] == [list(each) for each in step.notebook]
        assert then["heads"][2]["probabilities"] == step.heads[2].probabilities
    assert read["stats"]["steps"] == 20 and read["variant"]["pointer"]


@pytest.mark.parametrize("name", ["trace", "won"])
def test_an_animation_has_a_frame_before_every_step_and_one_after_the_last(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    episode: Trace = request.getfixturevalue(name)
    write_gif(tmp_path / "episode.gif", episode)
    with Image.open(tmp_path / "episode.gif") as animation:
        assert getattr(animation, "n_frames", 1) == len(episode.steps) + 1
