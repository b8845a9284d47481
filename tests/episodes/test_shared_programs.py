"""Whoever shows episodes of many tasks, one after the other, compiles few programs and keeps few."""

import logging
from collections import Counter

import jax
import pytest

from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.registry import find_task_of, make, make_roomy, shared_program
from afk.episodes.interactive import trace_policy
from afk.episodes.tracer import trace_episode
from afk.learning.rollout import Play
from afk.training.build import make_agent, play_by_plan, play_of
from afk.training.evaluate import CHUNK, draw_level, play_agent

from ..small_games import small_bank
from ..training.tiny_run import TINY

GRIDS = ("qbabyai/danger", "qbabyai/open-door", "qbabyai/object-in-box")


def _compiled(caplog: pytest.LogCaptureFixture) -> Counter[str]:
    """How often which function was compiled."""
    said = [record.getMessage().split() for record in caplog.records]
    return Counter(words[4] for words in said if words[:4] == ["Finished", "XLA", "compilation", "of"])


def test_one_program_plays_an_agent_on_all_tasks(caplog: pytest.LogCaptureFixture) -> None:
    agent, play = make_agent(TINY, jax.random.key(0)), play_of(TINY)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        traces = [
            trace_episode(Play(make_roomy(task), play.variant, play.rules), agent, seed=0) for task in GRIDS
        ]
    assert _compiled(caplog)["jit(_act)"] <= 1
    for task, trace in zip(GRIDS, traces, strict=True):
        assert (
            trace.last_state.grid.shape
            == trace.steps[0].state.grid.shape
            == find_task_of(Task, task).plan.shape
        )


def test_one_program_plays_plans_on_all_tasks(caplog: pytest.LogCaptureFixture) -> None:
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        traces = [trace_policy(play_by_plan(task), "expert", seed=0) for task in GRIDS]
    ways = {play_by_plan(task).rules for task in GRIDS}
    assert _compiled(caplog)["jit(_step)"] <= len(ways)
    assert {trace.ending for trace in traces} == {"success"}
    assert len({trace.last_state.grid.shape for trace in traces}) > 1


def test_roomy_games_of_several_tasks_share_one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    bank = small_bank()
    monkeypatch.setattr("afk.envs.qtextworld.environment.load_bank", lambda: bank)
    one, two = (make_roomy(f"qtextworld/{name}") for name in ("take-1", "take-2"))
    assert shared_program(one) == shared_program(two)
    assert shared_program(make("qtextworld/take-1")) != shared_program(one)


def test_no_program_is_compiled_for_the_number_of_a_level(caplog: pytest.LogCaptureFixture) -> None:
    env = make_roomy(GRIDS[0])
    draw_level(env, seed=0, level=0)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        for level in (1, 7, 99):
            draw_level(env, seed=level, level=level)
    assert not _compiled(caplog)


@pytest.mark.slow
def test_few_programs_are_compiled_for_an_episode_and_for_an_evaluation(
    caplog: pytest.LogCaptureFixture,
) -> None:
    agent, play = make_agent(TINY, jax.random.key(0)), play_of(TINY)
    jax.clear_caches()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        trace_episode(play, agent, seed=0)
    assert _compiled(caplog).total() <= 8
    caplog.clear()
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        chunks = list(play_agent(play, agent, episodes=CHUNK + 100, seed=0))
    assert [len(chunk.success) for chunk in chunks] == [CHUNK, 100]
    compiled = _compiled(caplog)
    assert compiled.pop("jit(_play_agents)") == 2  # one for each number of episodes at once
    assert compiled.total() <= 9
