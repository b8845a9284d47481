"""Watching an agent of Q-TextWorld: the record is what happened, and the transcript shows that."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, replace
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

from afk import cli, demo
from afk.agents.agent import Agent, Judgement, Size
from afk.agents.notebook import NoteTaking, Similarity
from afk.agents.reading import Reading
from afk.agents.text_agent import QUERIES, TextAgent
from afk.agents.variants import VARIANTS
from afk.envs.base import draw_pool
from afk.envs.qtextworld import bank as bank_module
from afk.envs.qtextworld.bank import Bank
from afk.envs.qtextworld.commands import read_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.solver import plan
from afk.envs.qtextworld.tasks import Task
from afk.envs.qtextworld.words import FEEDBACK, FUNCTIONS
from afk.experiments import checkpoint, config, presets
from afk.experiments.evaluate import fresh_keys
from afk.experiments.recorder import record_episode
from afk.experiments.recording import Recording
from afk.experiments.shelf import TrainedAgent
from afk.experiments.train import first_agent
from afk.experiments.watch import CHOICES, show_episode, write_gif
from afk.learn.rollout import Play, act, open_course, start_actors

from ..command import Run

TASK = Task("qtextworld/take-2-cut", ingredients=2, cut=True)
TAKE = "qtextworld/take-1"
SIZE = Size(width=8, head=8, instruction_words=28, notes=8, note_words=10, distinct_notes=0)
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

    def choose(self, thoughts: Memo, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        return self.lines[thoughts.line], jnp.zeros(thoughts.value.shape)

    def judge(self, thoughts: Memo, action: jax.Array, *, pays_for_asking: bool) -> Judgement:
        raise NotImplementedError


def play_of(bank: Bank, variant: str) -> Play:
    env = QTextWorld(TASK, bank)
    rules = NoteTaking(
        env.vocabulary,
        dropped=env.glue,
        unknown=env.no_answer,
        breaks=env.breaks,
        clauses=env.clauses,
        similarity=Similarity(1),
        words=env.sentence_length,
    )
    return Play(env, VARIANTS[variant], rules)


def new_agent(play: Play) -> TextAgent:
    return TextAgent(play.variant, SIZE, play.env.vocabulary, key=jax.random.key(1))


@pytest.fixture(scope="module")
def play(bank: Bank) -> Play:
    return play_of(bank, "afk")


@pytest.fixture(scope="module")
def recording(play: Play) -> Recording:
    return record_episode(play, new_agent(play), seed=SEED)


@pytest.fixture(scope="module")
def won(play: Play) -> Recording:
    """An episode of somebody who knows how, but not how likely anything is."""
    assert isinstance(play.env, QTextWorld)
    states = draw_pool(play.env, fresh_keys(SEED)[0], 1).states
    return record_episode(play, Script(lines=jnp.asarray(plan(play.env, states)[0]), size=SIZE), seed=SEED)


@pytest.fixture
def kept(bank: Bank, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The small bank as the one that is in the cache."""
    monkeypatch.setattr(bank_module, "_kept_bank", lambda path: bank)
    config._make_play.cache_clear()
    yield
    config._make_play.cache_clear()


def small_config() -> config.Config:
    return replace(presets.preset("laptop", [TAKE]), size=SIZE)


def print_episode(recording: Recording, width: int = 120) -> str:
    printed = StringIO()
    show_episode(Console(width=width, file=printed), recording)
    return printed.getvalue()


def squeeze(text: str) -> str:
    """A text without line breaks, wherever they are."""
    return " ".join(text.split())


@pytest.mark.parametrize("name", ["recording", "won"])
def test_what_is_recorded_is_what_happens_when_the_commands_are_typed(
    name: str, play: Play, request: pytest.FixtureRequest
) -> None:
    episode: Recording = request.getfixturevalue(name)
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
    assert episode.tally.steps == len(episode.steps)
    assert f"reward {paid:.2f}" in episode.summary()


def test_words_have_the_probabilities_that_the_agent_chose_them_by(play: Play, recording: Recording) -> None:
    agent, step = new_agent(play), eqx.filter_jit(act)
    level_key, key = fresh_keys(SEED)
    course = open_course(play, draw_pool(play.env, level_key, 1))
    actors = start_actors(agent, course, 1)
    for then in recording.steps:
        key, act_key = jax.random.split(key)
        actors, _, experience, _ = step(play, agent, course, actors, act_key)
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
    assert {then.asks for then in recording.steps} == {False, True}


def test_the_notebooks_sets_are_disjoint_and_the_first_holds_the_instruction(recording: Recording) -> None:
    before: set[str] = set()
    for then in recording.steps:
        notes = [note for each in then.notebook for note in each]
        assert len(set(notes)) == len(notes) and before <= set(notes) and all(then.notebook)
        assert then.notes == then.notebook[0] and set(then.new) <= set(then.notes)
        assert then.notes[0].split() == [
            word
            for word in recording.instruction.replace("!", "").replace(",", "").replace(".", "").split()
            if word not in QTextWorld.glue
        ]
        before = set(notes)
    assert any(then.new for then in recording.steps)


def test_what_has_nothing_to_do_with_the_instruction_is_in_other_sets(play: Play) -> None:
    questions = ["where oven", "how stove", "where stove"]
    lines = jnp.stack([read_command(TASK, f"ask Charlie {each}") for each in questions * 7])
    steps = record_episode(play, Script(lines=lines, size=SIZE), seed=SEED).steps
    oven, recipe, stove = "oven messy kitchen", "stove uncut uncooked", "stove messy kitchen"
    assert steps[0].notebook[1:] == ((oven,),)
    assert steps[1].notebook[1:] == ((oven,), (recipe,))
    assert steps[2].notebook[1:] == ((oven, recipe, stove),) == steps[-1].notebook[1:]
    assert not any(then.new or len(then.notes) > 1 for then in steps)


def test_an_agent_that_cannot_ask_has_no_words_to_ask_with(bank: Bank) -> None:
    play = play_of(bank, "no-query")
    episode = record_episode(play, new_agent(play), seed=SEED)
    for then in episode.steps:
        assert then.asking is None and not then.asks
        assert not set(QUERIES) & set(then.heads[0].probabilities)
        assert len(then.heads[2].probabilities) == play.env.action_sizes[2]  # it does not point
    assert "ask 0%" not in print_episode(episode)


def test_a_transcript_has_every_command_answer_note_and_word(recording: Recording) -> None:
    text = print_episode(recording, 200)
    room, *shown = re.split(r"\n(?=\d+ \w)", text)
    assert squeeze(recording.steps[0].seen) in squeeze(room)
    for then, lines in zip(recording.steps, shown, strict=True):
        answer = f' "{then.answer}"' if then.asks else f"\n  {then.news}"
        assert lines.startswith(f"{then.number} {then.said}{answer}")
        assert ("A0: " in lines) == then.asks and all(f"+ {note}" in lines for note in then.new)
        for choice in (choice for head in then.heads for choice in head.likeliest(CHOICES)):
            assert re.search(rf"\b{choice.word} +█* +{choice.probability:.0%}", lines)
        assert f"ask {then.asking:.0%}" in lines
    assert "out of time after 20 steps" in shown[-1]
    assert max(map(len, print_episode(recording, 60).splitlines())) <= 60


def test_an_agent_without_probabilities_is_shown_without_them(won: Recording) -> None:
    text, position = print_episode(won), 0
    for then in won.steps:
        assert then.heads == () and then.asking is None
        position = text.index(f"{then.number} {then.said}", position)
        assert (f'"{then.answer}"' if then.asks else then.news) in squeeze(text[position:])
    assert won.ending == "success" and "success after" in text and "reward 1.00" in text
    assert "█" not in text and "%" not in text.partition("success after")[0]
    # What to use for a recipe is a note of its own, which may belong to where something is.
    assert sum(len(then.new) for then in won.steps) == text.count("+ ") >= TASK.good_queries


def test_news_are_the_feedback_and_what_was_not_to_be_seen_before(won: Recording) -> None:
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


def test_a_record_can_be_written_as_json(recording: Recording) -> None:
    read = json.loads(json.dumps(asdict(recording), default=np.ndarray.tolist))
    for then, step in zip(read["steps"], recording.steps, strict=True):
        assert then["seen"] == step.seen and then["said"] == step.said
        assert then["notebook"] == [list(each) for each in step.notebook]
        assert then["heads"][2]["probabilities"] == step.heads[2].probabilities
    assert read["tally"]["steps"] == 20 and read["variant"]["pointer"]


@pytest.mark.parametrize("name", ["recording", "won"])
def test_an_animation_has_a_frame_before_every_step_and_one_after_the_last(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    episode: Recording = request.getfixturevalue(name)
    write_gif(tmp_path / "episode.gif", episode)
    with Image.open(tmp_path / "episode.gif") as animation:
        assert getattr(animation, "n_frames", 1) == len(episode.steps) + 1


@pytest.mark.usefixtures("kept")
def test_a_checkpoint_is_watched(run: Run, tmp_path: Path) -> None:
    settings = small_config()
    path, gif = tmp_path / "best-24.safetensors", tmp_path / "episode.gif"
    checkpoint.save(path, first_agent(settings, 24), checkpoint.describe(settings, seed=24))
    code, out, err = run("watch", str(path), "--task", TAKE, "--gif", str(gif))
    assert code in (0, None) and "collect some" in out
    assert re.search(r"(success|failure|out of time) after \d+ steps, reward", out)
    assert "written" in err and gif.read_bytes().startswith(b"GIF89a")
    shipped = str(Path(cli.__file__).parent / "shipped" / "qbabyai.safetensors")
    for arguments, said in (
        ((str(path), "--task", "qtextworld/take-2"), f"was trained on {TAKE}, not on qtextworld/take-2"),
        ((str(path), "--task", "qbabyai/danger", "--any-task"), "trained with other actions than"),
        ((shipped, "--task", TAKE, "--any-task"), "trained with other actions than"),
    ):
        code, out, err = run("watch", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1) and said in err


@pytest.mark.usefixtures("kept")
def test_the_demonstration_has_a_transcript_if_there_is_an_agent_and_text(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def say() -> str:
        text = StringIO()
        demo.show_text(Console(file=text, width=120), seed=SEED)
        return text.getvalue()

    settings = small_config()
    agent = TrainedAgent(settings, 24, first_agent(settings, 24))
    monkeypatch.setattr(demo, "find_agent", lambda name, tasks: agent)
    monkeypatch.setattr(demo, "shipped_tasks", lambda: ("qbabyai/danger",))
    assert say() == ""
    monkeypatch.setattr(demo, "shipped_tasks", lambda: ("qbabyai/danger", TAKE))
    said = say()
    assert f"A trained agent on {TAKE}" in said and "collect some" in said and "after 20 steps" in said

    def load_bank() -> Bank:
        raise ValueError("textworld is not installed")

    monkeypatch.setattr(demo, "load_bank", load_bank)
    assert say() == ""
