"""Ids are known by `import afk`, which imports neither Gymnasium nor JAX."""

import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest

from afk.envs.adapters import ids
from afk.envs.adapters.gymnasium import gymnasium_id
from afk.envs.registry import find_task, register, task_names, world_of

from ...registries import registries

__all__ = ["registries"]
ID = "QBabyAI-Danger-v0"
EXAMPLES = Path(__file__).parents[3] / "examples"
SAY = f'; env = gymnasium.make("{{}}{ID}"); print(env.spec.id, env.spec.max_episode_steps)'
LIGHT = "; import sys; assert not {'jax', 'gymnasium', 'numpy'} & sys.modules.keys()"


def test_what_is_listed_are_the_tasks_that_there_are() -> None:
    tasks = {name: find_task(name) for name in task_names()}
    assert {*ids.OURS} == {*tasks}
    for name, listed in ids.OURS.items():
        assert listed.world == world_of(tasks[name]).name
        assert listed.max_steps == tasks[name].max_steps
        assert ids.spell_id(listed.family, name) == gymnasium_id(name)


@pytest.mark.parametrize(
    ("imports", "prefix"),
    [
        (f"import afk{LIGHT}; import gymnasium; assert 'jax' not in sys.modules", ""),
        ("import gymnasium; import afk", ""),
        ("import gymnasium", "afk:"),
        (f"import afk{LIGHT}; import gymnasium", "afk.envs.adapters.gymnasium:"),
    ],
)
def test_ids_are_known_in_whichever_order_modules_are_imported(imports: str, prefix: str) -> None:
    done = run(imports + SAY.format(prefix))
    assert done.stdout == f"{ID} 49\n", done.stderr


def test_where_gymnasium_is_missing_nothing_is_missed() -> None:
    done = run("import sys; sys.modules['gymnasium'] = None; import afk; print(afk.task_names()[1])")
    assert done.stdout == "qbabyai/danger\n", done.stderr


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(
    ("imports", "prefix"),
    [
        ("import own_task; import gymnasium", ""),
        ("import gymnasium; import own_task", ""),
        ("import gymnasium", "own_task:"),
    ],
)
def test_a_task_of_ones_own_has_an_id_as_soon_as_it_is_registered(imports: str, prefix: str) -> None:
    say = f'; env = gymnasium.make("{prefix}QBabyAI-FourRooms-v0"); print(env.spec.max_episode_steps)'
    done = run(f"import sys; sys.path.append({str(EXAMPLES)!r}); {imports}{say}")
    assert done.stdout == "144\n", done.stderr


def test_a_task_of_ones_own_has_an_id_in_words_too(registries: None) -> None:
    from afk.envs.qbabyai.levels.clauses import Danger
    from afk.envs.qbabyai.levels.floorplan import FloorPlan
    from afk.envs.qbabyai.levels.tasks import Task

    register(Task("mine/small-danger", FloorPlan(room_size=6), (Danger(),)))
    spec = gymnasium.spec("Mine-SmallDanger-v0")
    assert spec.max_episode_steps == 36 and spec.kwargs == {"name": "mine/small-danger"}
    assert gymnasium.spec("MineText-SmallDanger-v0").max_episode_steps == 36


def test_a_limit_of_ones_own_is_kept_or_refused() -> None:
    env = gymnasium.make(ID, max_episode_steps=3)
    env.reset(seed=0)
    nothing = [0, 6, 0, 0, 0]
    assert [env.step(nothing)[3] for _ in range(3)] == [False, False, True]
    with pytest.raises(ValueError, match=r"episodes of qbabyai/danger have 49 steps here, not 3: .*sync"):
        gymnasium.make_vec(ID, 2, max_episode_steps=3)
