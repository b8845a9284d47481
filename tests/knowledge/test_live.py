"""Sources that are asked while agents play: they say what is true then, and never end a program."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import afk
from afk.envs.asking import Asking
from afk.envs.qbabyai.text import read_action
from afk.envs.registry import make
from afk.knowledge.catalogue import SOURCES, register_source
from afk.knowledge.oracle import Oracle
from afk.knowledge.source import Answer, Facts, KnowledgeSource, Session
from afk.knowledge.traits import SourceSpec


@dataclass(frozen=True)
class Moody(KnowledgeSource):
    """The oracle, but nobody promises that it says the same again; it writes down what it was asked."""

    name: str = "moody"
    is_deterministic: bool = False
    asked: list[str] = field(default_factory=list, hash=False)
    opened: list[int] = field(default_factory=list, hash=False)
    is_down: bool = False

    def open(self, facts: Facts, seed: int) -> Session:
        self.opened.append(seed)
        return _MoodySession(self, Oracle().open(facts, seed))


@dataclass(frozen=True)
class _Ill(KnowledgeSource):
    """The oracle; questions of some numbers fail."""

    name: str = "ill"
    is_deterministic: bool = False
    fails: tuple[int, ...] = ()
    puts: list[int] = field(default_factory=list, hash=False)

    def open(self, facts: Facts, seed: int) -> Session:
        return _IllSession(self, Oracle().open(facts, seed))


class _IllSession(Session):
    def __init__(self, source: _Ill, oracle: Session) -> None:
        self._source, self._oracle = source, oracle

    def ask(self, questions: Sequence[str]) -> list[Answer]:
        self._source.puts.append(1)
        if len(self._source.puts) - 1 in self._source.fails:
            raise OSError("not now")
        return self._oracle.ask(questions)


@dataclass(frozen=True)
class _Odd(KnowledgeSource):
    """It answers whatever it was told to."""

    name: str = "odd"
    is_deterministic: bool = False
    answer: Any = None

    def open(self, facts: Facts, seed: int) -> Session:
        return _OddSession(self.answer)


class _OddSession(Session):
    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def ask(self, questions: Sequence[str]) -> list[Answer]:
        return [self._answer] * len(questions)


class _MoodySession(Session):
    def __init__(self, source: Moody, oracle: Session) -> None:
        self._source, self._oracle = source, oracle

    def follow(self, facts: Facts) -> None:
        self._oracle.follow(facts)

    def ask(self, questions: Sequence[str]) -> list[Answer]:
        if self._source.is_down:
            raise OSError("nobody is there")
        self._source.asked.extend(questions)
        return self._oracle.ask(questions)


@pytest.fixture
def moody(monkeypatch: pytest.MonkeyPatch) -> Moody:
    source = Moody()
    monkeypatch.setattr("afk.knowledge.catalogue.SOURCES", dict(SOURCES))
    register_source("moody", lambda: source, "the oracle by another name")
    return source


def play(env: Any, *lines: str) -> list[tuple[str, Any]]:
    """The responses to some lines, and the statistics after each."""
    state, _ = jax.jit(env.reset)(jax.random.key(1))
    step, said = jax.jit(env.step), []
    for line in lines:
        state, time_step = step(state, read_action(line))
        said.append((env.vocabulary.decode(time_step.observation.response), jax.device_get(time_step.stats)))
    return said


def test_a_live_source_is_asked_step_by_step(moody: Moody) -> None:
    lines = ("what mary toy", "turn left", "where red ball", "what mary toy")
    env = make("qbabyai/object-in-box")
    told, usual = play(env.told_by(moody), *lines), play(env, *lines)
    assert [text for text, _ in told] == [text for text, _ in usual]
    assert [stats.good for _, stats in told] == [stats.good for _, stats in usual]
    assert moody.asked == ["what mary toy", "where red ball", "what mary toy"]
    assert len(moody.opened) == 1


def test_agents_play_with_a_live_source_as_with_the_oracle(moody: Moody) -> None:
    usual = afk.evaluate("pretrained", "S", episodes=8)
    live = afk.evaluate("pretrained", "S", episodes=8, asking=Asking("moody"))
    assert {name: live[name] for name in ("success", "queries", "f1")} == {
        name: usual[name] for name in ("success", "queries", "f1")
    }
    # Who is done plays on until all are done.
    assert len(moody.opened) >= 8 and len(moody.asked) >= 8 * usual["queries"]


def test_levels_that_look_alike_have_sessions_of_their_own(
    moody: Moody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afk.training.evaluate.CHUNK", 4)
    usual = afk.evaluate("pretrained", "S", episodes=32)
    live = afk.evaluate("pretrained", "S", episodes=32, asking=Asking("moody"))
    assert len(moody.opened) == 32 and live["success"] == usual["success"] == 1


def test_watching_puts_each_question_once(moody: Moody) -> None:
    trace = afk.watch("pretrained", "C", asking=Asking("moody"))
    assert trace.steps[-1].success and moody.asked == [
        "what mary toy",
        "where blue ball",
        "what jack suitcase",
    ]


def test_a_live_source_has_a_price_like_any_other(moody: Moody) -> None:
    priced = Asking("moody", (SourceSpec(price=(0.5, 0.5), budget=1),))
    played = afk.evaluate("pretrained", "S", episodes=8, asking=priced)
    assert played["cost"] == pytest.approx(0.5) and len(moody.asked) >= 8


def test_what_a_live_source_refuses_is_in_the_summary(moody: Moody) -> None:
    assert afk.evaluate("pretrained", "C", episodes=4, asking=Asking("moody"))["refusals"] == 0
    register_source("ill", lambda: _Ill(fails=tuple(range(9))), "never answers")
    played = afk.evaluate("pretrained", "C", episodes=4, asking=Asking("ill"))
    assert played["refusals"] == played["queries"] > 0 == played["recall"] == played["false_answers"]


def test_what_goes_wrong_on_the_host_is_a_refusal_and_said_once(
    moody: Moody, capfd: pytest.CaptureFixture[str]
) -> None:
    down = Moody(is_down=True)
    said = play(make("qbabyai/object-in-box").told_by(down), "what mary toy", "what jack toy")
    assert [text for text, _ in said] == [said[0][0]] * 2 and said[1][1].queries == 2 and not said[1][1].good
    assert capfd.readouterr().err.splitlines() == ["note: moody refuses: nobody is there"]
    assert jnp.isfinite(said[1][1].steps)


def test_a_source_that_is_down_is_given_up_and_one_that_comes_back_is_not(
    moody: Moody, capfd: pytest.CaptureFixture[str]
) -> None:
    ill = _Ill(fails=(1, 2, 4, 5, 6))
    said = play(make("qbabyai/object-in-box").told_by(ill), *["what mary toy", "what jack toy"] * 4)
    assert [text == "i dont" for text, _ in said] == [False, True, True, False, True, True, True, True]
    assert ill.puts == [1] * 7, "the eighth question is not put"
    assert capfd.readouterr().err.splitlines() == [
        "note: ill refuses: not now",
        "note: ill is asked no more: all that follows is refused",
    ]


@pytest.mark.parametrize("is_deterministic", [True, False], ids=["tabulated", "live"])
def test_of_many_facts_those_count_that_are_heard(is_deterministic: bool) -> None:
    everything = Answer(" and ".join(["blue ball"] * 20), "told", tuple(range(9)))
    env = make("qbabyai/object-in-box").told_by(_Odd(is_deterministic=is_deterministic, answer=everything))
    states = jax.device_get(env.draw_many(jax.random.key(0), 4))
    asked = jax.vmap(lambda state: env.step(state, jnp.asarray(read_action("what mary toy"))))
    _, step = jax.jit(asked)(states)
    assert (np.asarray(step.stats.good) <= 1).all() and np.asarray(step.observation.response).any(-1).all()


@pytest.mark.parametrize("is_deterministic", [True, False], ids=["tabulated", "live"])
@pytest.mark.parametrize(("kind", "lies", "refusals"), [("told", 1, 0), ("unknown", 0, 0), ("refused", 0, 1)])
def test_a_false_answer_is_one_whoever_gives_it(
    kind: str, lies: int, refusals: int, is_deterministic: bool
) -> None:
    odd = _Odd(is_deterministic=is_deterministic, answer=Answer("mary toy is blue ball", kind))
    env = make("qbabyai/object-in-box").with_sources([SourceSpec()]).told_by(odd)
    state = jax.tree.map(lambda leaf: leaf[0], env.draw_many(jax.random.key(0), 1))
    _, step = jax.jit(env.step)(state, jnp.asarray(read_action("what mary toy")))
    assert int(step.dealings.lies) == lies and int(step.stats.good) == 0
    assert is_deterministic or int(step.dealings.refusals) == refusals


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer("blue ball", "known", (0,)), "one of told, unknown, refused, not 'blue ball' and 'known'"),
        (Answer(None, "told"), "an answer is a text"),  # pyright: ignore[reportArgumentType]
        (Answer("blue ball", "told", (2**40,)), "a tuple of their rows"),
        ("blue ball", "no attribute"),
    ],
)
def test_an_answer_that_is_none_is_a_refusal(
    answer: Any, problem: str, capfd: pytest.CaptureFixture[str]
) -> None:
    said = play(make("qbabyai/object-in-box").told_by(_Odd(answer=answer)), "what mary toy")
    assert [text for text, _ in said] == ["i dont"] and not said[0][1].good
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("note: odd refuses: ") and problem in line
