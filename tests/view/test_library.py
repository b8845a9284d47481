"""What the viewer keeps and shows: levels, agents, games, episodes and the links between notes."""

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import equinox as eqx
import jax
import pytest

from afk.agents.notebook import Similarity
from afk.cli.view import view
from afk.envs.asking import Asking
from afk.envs.qbabyai.levels.clauses import Danger, GoToFavorite
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.text import draw_map
from afk.envs.registry import make, register
from afk.episodes.interactive import InteractiveEpisode, trace_policy
from afk.knowledge.traits import SourceSpec
from afk.training.build import play_by_plan
from afk.training.evaluate import draw_level
from afk.training.pretrained import PRETRAINED, find_agent, pretrained_tasks, save_small
from afk.view.episode import Source, find_links
from afk.view.library import Kept, Library
from afk.view.sessions import Sessions, UnknownSessionError

from ..registries import registries

__all__ = ["registries"]
ROOT = Path(__file__).parents[2]
GRID, TEXT = "qbabyai/danger", "qtextworld/take-1"


def test_levels_of_a_seed_differ_and_do_not_depend_on_how_many_are_drawn() -> None:
    env = make(GRID)
    drawn = env.draw_many(jax.random.split(jax.random.fold_in(jax.random.key(3), 1_000))[0], 4)
    for level in range(4):
        pool = draw_level(env, seed=3, level=level)
        assert eqx.tree_equal(
            pool.states, jax.tree.map(lambda leaf, level=level: leaf[level : level + 1], drawn)
        )
    assert (
        len({draw_map(jax.tree.map(lambda leaf, level=level: leaf[level], drawn)) for level in range(4)}) > 1
    )


def test_only_the_latest_games_are_kept() -> None:
    sessions, source = Sessions(most=2), Source(GRID, "", 0, 0)
    one, two = (sessions.start(source)[0] for _ in range(2))
    sessions.find(one)
    three, _ = sessions.start(source, ["left"])
    assert len(sessions) == 2 and sessions.find(one) and sessions.find(three)
    with pytest.raises(UnknownSessionError):
        sessions.find(two)


def test_a_game_that_is_over_takes_no_more_steps() -> None:
    trace = trace_policy(play_by_plan(GRID), "expert", seed=0)
    game = InteractiveEpisode(play_by_plan(GRID), seed=0)
    for step in trace.steps:
        game.say(step.said)
    assert game.tracer.is_over and game.tracer.record().ending == "success"
    with pytest.raises(ValueError, match="over"):
        game.say("left")


def test_what_many_ask_for_is_made_once_and_what_fails_is_tried_again() -> None:
    kept: Kept[int] = Kept(2)
    made, go_on = [], Event()

    def make_slowly() -> int:
        go_on.wait(5)
        made.append(1)
        return len(made)

    with ThreadPoolExecutor(4) as people:
        results = [people.submit(kept.get, "a", make_slowly) for _ in range(4)]
        go_on.set()
    assert [each.result() for each in results] == [1] * 4 and len(made) == 1
    with pytest.raises(ZeroDivisionError):
        kept.get("b", lambda: 1 // 0)
    assert kept.get("b", lambda: 5) == 5
    kept.get("c", lambda: 6)
    assert kept.get("a", make_slowly) == 2  # it was used longest ago, and made room


def test_links_join_just_the_notes_that_are_in_one_set() -> None:
    trace = trace_policy(play_by_plan("qbabyai/object-in-box"), "expert", seed=1)
    for step in trace.steps:
        notes = [note for each in step.notebook for note in each]
        owners = [number for number, each in enumerate(step.notebook) for _ in each]
        links = find_links(step.notebook, Similarity(2))  # which this task relates notes by
        for one, two, shared in links:
            assert shared and all(gram in notes[one] and gram in notes[two] for gram in shared)
            assert {len(gram.split()) for gram in shared} == {2}
            assert owners[one] == owners[two]
        for number in set(owners):
            inside = {note for note, owner in enumerate(owners) if owner == number}
            reached = {min(inside)}
            for _ in inside:
                reached |= {note for one, two, _ in links if {one, two} & reached for note in (one, two)}
            assert reached == inside
    assert max(len(each) for each in trace.steps[-1].notebook) > 2


def test_links_take_as_many_shared_words_as_alpha_says() -> None:
    sets = [["find mary toy", "mary toy blue ball"], ["red key"]]
    assert find_links(sets, Similarity(1)) == [(0, 1, ["mary", "toy"])]
    assert find_links(sets, Similarity(2)) == [(0, 1, ["mary toy"])]
    assert find_links(sets, Similarity(1, alpha=0.6)) == [(0, 1, ["mary", "toy"])]
    assert not find_links(sets, Similarity(1, alpha=0.7))


def test_agents_of_runs_are_listed_and_can_be_chosen(tmp_path: Path, short_texts: None) -> None:
    agent = find_agent(PRETRAINED, (GRID,))
    save_small(tmp_path / "runs" / "mine" / "best-24.safetensors", agent)
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "best-1.safetensors").write_bytes(b"nothing")
    library = Library(tmp_path / "runs")
    tasks = [*dict.fromkeys(agent.config.tasks)]
    assert {"name": "mine/best-24", "tasks": tasks} in library.describe()["agents"]
    assert "broken/best-1" not in [agent["name"] for agent in library.describe()["agents"]]
    assert library.first().agent == PRETRAINED
    chosen = Library(tmp_path / "none", tmp_path / "runs" / "mine")
    assert chosen.first() == Source(agent.config.tasks[0], "mine/best-24", 0, 0)
    assert chosen.check(Source("CS", "mine/best-24", 0, 0)).task == "qbabyai/object-in-box+danger"
    played = chosen.describe_episode(chosen.first())
    assert played["moments"][1]["step"]["heads"] and played["ending"]
    with pytest.raises(ValueError, match="other actions"):
        library.record(Source(TEXT, "mine/best-24", 0, 0))
    with pytest.raises(ValueError, match="neither a checkpoint of an agent nor a run's folder"):
        Library(None, tmp_path / "runs")


def test_an_agent_that_has_learned_on_is_watched_as_it_is_now(tmp_path: Path, short_texts: None) -> None:
    agent, path = find_agent(PRETRAINED, (GRID,)), tmp_path / "runs" / "mine" / "best-24.safetensors"
    save_small(path, agent)
    library, source = Library(tmp_path / "runs"), Source(GRID, "mine/best-24", 0, 0)
    before = library.record(source)[1]
    assert library.record(source)[1] is before, "an episode is kept"
    arrays, static = eqx.partition(agent.network, eqx.is_inexact_array)
    forgot = eqx.combine(jax.tree.map(lambda leaf: 0 * leaf, arrays), static)
    save_small(path, agent._replace(network=forgot))
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))  # in the same tick of the clock
    after = library.record(source)[1]
    assert [step.said for step in after.steps] != [step.said for step in before.steps]


def test_what_is_missing_is_named_with_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ValueError, match=r"uvicorn is missing; for the viewer: pip install 'afk-rl\[view\]'"):
        view()


def test_ten_people_were_served_soon_and_the_document_says_so() -> None:
    record = json.loads((ROOT / "results" / "viewers.json").read_text())
    alone, together = (row["step_ms"] for row in record["rows"])
    assert record["rows"][1]["people"] == 10 and together["median"] < 100
    assert record["ratio"] == pytest.approx(together["median"] / alone["median"])
    page = " ".join((ROOT / "docs" / "viewer.md").read_text().split())
    low, high = min(record["ratio_by_round"]), max(record["ratio_by_round"])
    for said in (
        f"in {together['median']:.0f} ms at the median",
        f"in {alone['median']:.0f} ms when there is one",
        f"longer than {together['p95']:.0f} ms and {alone['p95']:.0f} ms",
        f"from {low:.1f} to {high:.1f} in three rounds",
    ):
        assert said in page


def test_memory_is_given_back_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[int] = []
    monkeypatch.setattr("afk.view.library.give_back", lambda: given.append(1))
    monkeypatch.setattr("afk.view.library.trace_policy", lambda play, policy, **where: (policy, where))
    shelf = Library()
    for level in range(64):
        shelf.record(Source(GRID, "expert", 0, level))
    assert len(given) == 4


@pytest.mark.slow
def test_the_viewer_asks_whom_it_is_told_to() -> None:
    silenced = Asking("documents", (SourceSpec(silence=(1.0, 1.0), price=(0.0, 0.5)),))
    library, source = Library(asking=silenced), Source(GRID, PRETRAINED, 0, 0)
    assert library.describe()["asking"] == "documents, price 0 to 0.5, silence 1"
    answers = {step.answer for step in library.record(source)[1].steps if step.asks}
    _, session = Sessions(asking=library.asking).start(source, ["what danger zone"])
    assert {step.answer for step in session.record().steps} == answers and len(answers) == 1
    assert Library().describe()["asking"] == "" and Asking(mode="all-told").title == "all-told"


@pytest.mark.slow
@pytest.mark.parametrize("task", [task for task in pretrained_tasks() if task.startswith("qbabyai")])
def test_the_gallery_shows_a_good_episode(task: str) -> None:
    trace = Library().record(Source(task, PRETRAINED, 0, 0))[1]
    assert trace.ending == "success" and trace.stats.good > 0


def test_no_two_tasks_have_one_title(registries: None) -> None:
    register(Task("mine/four-rooms", FloorPlan(2, 2), (Danger(), GoToFavorite())))
    titles = [task["title"] for task in Library().describe()["tasks"]]
    assert len({*titles}) == len(titles)
    assert {"Danger + Go to Favorite (four rooms)", "Object in Box + Danger (two rooms)"} < {*titles}
