"""Watching an episode: the trace is what happened, and both pictures of it show that."""

import json
import sys
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from afk.agents.base import Size
from afk.agents.grid_agent import ACT, ASK, GridAgent
from afk.agents.notebook import NoteTaking, Similarity
from afk.agents.variants import VARIANTS
from afk.envs.qbabyai.text import describe_action, draw_map, read_action
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.view import AGENT_COLUMN, AGENT_ROW, VIEW, look
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import make
from afk.episodes.terminal import CHOICES, draw_view, name_carried, show_episode, write_gif
from afk.episodes.trace import Head, Trace
from afk.episodes.tracer import trace_episode
from afk.language import NONE
from afk.learning.rollout import Play

from ..agents.notebook_reference import ReferenceNotebook, clean

ENV = make("qbabyai/object-in-box+danger")
SIZE = Size(width=8, head=8, view_layers=1, film_blocks=1, notes=6, distinct_notes=0)
RULES = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",), similarity=Similarity(1))
SEED = 33  # of an episode with walks, news of one note and of two, old news, and questions in vain


def trace_agent(name: str, seed: int) -> Trace:
    agent = GridAgent(VARIANTS[name], SIZE, VOCABULARY, ENV.action_sizes[1], key=jax.random.key(1))
    if VARIANTS[name].pointer:  # to it, words differ in probability
        agent = eqx.tree_at(
            lambda each: (each.adjective.query, each.noun.query), agent, replace_fn=lambda w: 20 * w
        )
    return trace_episode(Play(ENV, VARIANTS[name], RULES), agent, seed=seed)


@pytest.fixture(scope="module")
def trace() -> Trace:
    return trace_agent("afk", SEED)


def print_episode(trace: Trace, width: int = 160) -> str:
    printed = StringIO()
    show_episode(Console(width=width, file=printed), trace)
    return printed.getvalue()


def test_the_same_seed_gives_the_same_episode_and_another_seed_another(trace: Trace) -> None:
    again, other = trace_agent("afk", SEED), trace_agent("afk", SEED + 1)
    assert len(again.steps) == len(trace.steps) and again.stats == trace.stats
    for one, two in zip(again.steps, trace.steps, strict=True):
        assert one.heads == two.heads and eqx.tree_equal((one.action, one.state), (two.action, two.state))
    assert print_episode(again) == print_episode(trace) != print_episode(other)


def test_a_trace_is_what_happens_when_the_actions_are_played_by_hand(trace: Trace) -> None:
    play_step, see = jax.jit(ENV.step), jax.jit(look)
    state, done, paid, stats = trace.steps[0].state, False, 0.0, None
    for number, then in enumerate(trace.steps, 1):
        assert then.number == number and not done
        assert eqx.tree_equal(jax.device_get(state), then.state)
        np.testing.assert_array_equal(see(state), then.seen)
        assert then.said == describe_action(then.action) and then.asks == (then.action[0] == ASK)
        assert describe_action(read_action(then.said)) == then.said
        state, time_step = play_step(state, then.action)
        assert then.answer == VOCABULARY.decode(time_step.observation.response)
        for name in ("reward", "terminated", "truncated", "success"):
            assert getattr(then, name) == getattr(time_step, name)
        done, paid, stats = bool(time_step.done), paid + float(time_step.reward), time_step.stats
    assert done and eqx.tree_equal(*jax.device_get((state, trace.last_state)))
    np.testing.assert_array_equal(see(state), trace.last_seen)
    assert jax.tree.map(int, stats) == trace.stats
    assert f"reward {paid:.2f}" in trace.summary()


def test_notes_are_those_of_the_papers_notebook_in_the_order_of_writing(trace: Trace) -> None:
    instruction, similarity = trace.instruction, RULES.similarity
    notebook = ReferenceNotebook(instruction, similarity.n, similarity.alpha, RULES.capacity)
    written, before = [clean(instruction)], {clean(instruction)}
    for then in trace.steps:
        assert bool(then.new) == notebook.write(then.answer)
        written += [clean(clause) for clause in then.answer.split(",")]
        notes = [tuple(note.split()) for note in then.notes]
        assert notes == [note for note in dict.fromkeys(written) if note in notebook.sets[0]]
        assert {tuple(note.split()) for note in then.new} == notebook.sets[0] - before
        sets = [{tuple(note.split()) for note in each} for each in then.notebook]
        assert sets == [notebook.sets[index] for index in sorted(notebook.sets)]
        before = notebook.sets[0]
    assert {len(then.new) for then in trace.steps} == {0, 1, 2}


def test_pointers_point_to_words_in_the_notes(trace: Trace) -> None:
    read = trace.steps[0].notes
    assert read == (trace.instruction.replace(",", ""),)
    for then in trace.steps:
        words = {NONE, *" ".join(read).split()}
        *_, adjective, noun = then.heads
        for head, said in ((adjective, VOCABULARY.adjectives), (noun, VOCABULARY.nouns)):
            assert set(head.probabilities) == words & set(said)
        read = then.notes


@pytest.mark.parametrize("name", ["afk", "no-query", "query", "afk-no-notebook"])
def test_every_agent_can_be_watched_with_its_probabilities(name: str, trace: Trace) -> None:
    episode = trace if name == "afk" else trace_agent(name, SEED)
    asks = VARIANTS[name].asks
    questions = ["function", "adjective", "noun"]
    for then in episode.steps:
        assert [head.title for head in then.heads] == ["action", *(questions if asks else [])]
        assert [head.title for head in then.weighed] == (questions if then.asks else ["action"])
        assert (then.asking is not None) == asks and 0 < (then.asking or 0.5) < 1
        for head in then.heads:
            assert sum(head.probabilities.values()) == pytest.approx(1, abs=1e-5)
        taken = [head.taken for head in then.weighed]
        asked = then.said == f'ask "{" ".join(word for word in taken if word != NONE)}"'
        assert asked if then.asks else taken == [then.said]
    assert {bool(then.asks) for then in episode.steps} == ({False, True} if asks else {False})
    text = print_episode(episode)
    assert ("ask " in text) == asks and ("not read" in text) == (asks and not VARIANTS[name].notebook)


def test_the_likeliest_choices_hold_the_one_that_was_taken() -> None:
    head = Head("noun", "key", {"ball": 0.5, "box": 0.25, "toy": 0.2, "key": 0.05}, counts=True)
    assert [choice.word for choice in head.likeliest(3)] == ["ball", "box", "key"]
    assert [choice.taken for choice in head.likeliest(3)] == [False, False, True]
    assert head.likeliest(4)[2] == ("toy", 0.2, False) and len(head.likeliest(5)) == 4


def test_a_trace_can_be_written_as_json(trace: Trace) -> None:
    read = json.loads(json.dumps(asdict(trace), default=np.ndarray.tolist))
    step = trace.steps[-1]
    assert read["task"] == ENV.name and read["steps"][-1]["seen"] == step.seen.tolist()
    assert read["steps"][-1]["heads"][0]["probabilities"] == step.heads[0].probabilities
    assert read["stats"]["steps"] == len(read["steps"])


def test_the_terminal_shows_every_step_question_answer_and_note(trace: Trace) -> None:
    text, position = print_episode(trace), 0
    for then in trace.steps:
        # Steps between questions stand side by side, so only what is asked stands below what was before.
        action = f"{then.number} {then.said}"
        assert action in text
        if then.asks:
            position = text.index(f'{action} "{then.answer}"', position)
            assert all(f"+ {note}" in text[position:] for note in then.new)
    assert trace.instruction in text
    for ending, last in (
        ("success", {"success": True}),
        ("failure", {"success": False, "terminated": True}),
        ("out of time", {"terminated": False, "truncated": True}),
    ):
        steps = (*trace.steps[:-1], replace(trace.steps[-1], **last))
        assert f"{ending} after {len(steps)} steps" in print_episode(replace(trace, steps=steps))


def test_bars_stay_whole_in_a_narrow_terminal(trace: Trace) -> None:
    lines = print_episode(trace, 80).splitlines()
    assert max(map(len, lines)) <= 80
    for then in trace.steps:
        for rank in range(CHOICES):
            columns = [head.likeliest(CHOICES) for head in then.weighed]
            row = [choices[rank] for choices in columns if rank < len(choices)]
            words = [f"{choice.word} " for choice in row] + [f"{choice.probability:.0%}" for choice in row]
            assert any(all(word in line for word in words) for line in lines)


def test_the_view_is_the_part_of_the_map_that_is_seen(trace: Trace) -> None:
    compared = 0
    for then in trace.steps:
        view = [line.ljust(2 * VIEW) for line in draw_view(then.seen, then.state).plain.splitlines()]
        assert len(view) == VIEW and view[AGENT_ROW][2 * AGENT_COLUMN] == "^"
        if cells.DIRECTION_WORDS[int(then.state.direction)] != "north":
            continue
        world = draw_map(then.state).splitlines()
        left, top = np.asarray(then.state.position) - (AGENT_COLUMN, AGENT_ROW)
        for column, row in np.argwhere(then.seen[..., 0] != cells.UNSEEN):
            x, y = left + column, top + row
            if 0 <= y < len(world) and 0 <= x < len(world[0]) // 2:
                mark = world[y][2 * x : 2 * x + 2].ljust(2)
                assert view[row][2 * column : 2 * column + 2] == mark
                compared += mark not in ("##", ". ")
    assert compared > 10


def test_what_is_carried_is_said(trace: Trace) -> None:
    first = trace.steps[0]
    assert not name_carried(first)
    image = first.seen.copy()
    image[AGENT_COLUMN, AGENT_ROW, :3] = cells.KEY, cells.PURPLE, 0
    carrying = replace(first, seen=image)
    assert name_carried(carrying) == "purple key"
    assert "carries purple key" in print_episode(replace(trace, steps=(carrying,)))


def test_an_animation_has_a_frame_before_every_step_and_one_after_the_last(
    trace: Trace, tmp_path: Path
) -> None:
    path = tmp_path / "new" / "episode.gif"
    write_gif(path, trace)
    assert [each.name for each in path.parent.iterdir()] == ["episode.gif"]
    durations, frames = [], []
    with Image.open(path) as animation:
        assert getattr(animation, "n_frames", 1) == len(trace.steps) + 1
        for number in range(len(trace.steps) + 1):
            animation.seek(number)
            durations.append(animation.info["duration"])
            frames.append(animation.convert("RGB").tobytes())
    assert len(set(frames)) == len(frames)
    shown = {bool(then.asks): duration for then, duration in zip(trace.steps, durations, strict=False)}
    assert shown[bool(ASK)] > shown[bool(ACT)]


def test_animations_that_cannot_be_written_are_refused(
    trace: Trace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short = replace(trace, steps=trace.steps[:1])
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.gif").mkdir()
    for path, said in (
        (tmp_path / "episode.png", r"ends in \.gif"),
        (tmp_path / "file" / "episode.gif", "cannot be written"),
        (tmp_path / "folder.gif", "cannot be written"),
    ):
        with pytest.raises(ValueError, match=said) as refusal:
            write_gif(path, short)
        assert path.name in str(refusal.value) and "\n" not in str(refusal.value)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "folder.gif"]

    monkeypatch.delitem(sys.modules, "afk.episodes.gif")
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ValueError, match="pip install pillow"):
        write_gif(tmp_path / "episode.gif", short)
