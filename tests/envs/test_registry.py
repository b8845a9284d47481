"""Worlds and tasks by name: the paper's, and one's own."""

from dataclasses import dataclass, replace

import pytest

from afk.envs import registry
from afk.envs.qbabyai.levels.tasks import Task as GridTask
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels import bank as bank_module
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.registry import WORLDS, find_task, make, make_roomy, shared_program, world_of

from ..small_games import small_bank


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Bank:
    """Short texts as those that are in the cache."""
    bank = small_bank()
    monkeypatch.setattr(bank_module, "_kept_bank", lambda path: bank)
    return bank


@dataclass(frozen=True)
class Chore:
    """A task of another kind of world."""

    name: str


def test_names_lead_to_games(kept: Bank) -> None:
    for task in paper_tasks():
        env = make(task.name)
        assert env == QTextWorld(task, kept)
        assert find_task(task.name) == task
        assert (env.name, env.max_steps) == (task.name, 20)


def test_a_game_of_ones_own_is_a_name_like_any_other(kept: Bank, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registered", {})
    task = Task("mine/stew", ingredients=3, cook=True)
    registry.register(task)
    assert registry.task_names()[-1] == "mine/stew"
    assert make("mine/stew") == QTextWorld(task, kept)
    registry.register(task)  # a module may be imported twice
    with pytest.raises(ValueError, match="registered already"):
        registry.register(Task("mine/stew", ingredients=2))


@pytest.mark.parametrize(
    ("short", "name"),
    [
        ("danger", "qbabyai/danger"),
        ("take-1", "qtextworld/take-1"),
        ("released/danger", "released/danger"),
        ("Take 2 Cut", "qtextworld/take-2-cut"),
        ("Object in Box + Danger", "qbabyai/object-in-box+danger"),
        ("cs", "qbabyai/object-in-box+danger"),
        ("released/cs", "released/object-in-box+danger"),
    ],
)
def test_names_may_be_short_and_written_as_titles_are(short: str, name: str) -> None:
    assert registry.task_named(short) == name


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("name", "title"), [("qbabyai/danger", "Q-BabyAI"), ("qtextworld/take-1", "Q-TextWorld")]
)
def test_an_environment_and_its_task_are_of_one_world(name: str, title: str) -> None:
    world = WORLDS[name.partition("/")[0]]
    assert world.title == title and isinstance(find_task(name), world.task_type)
    assert world_of(find_task(name)) is world_of(make(name)) is world_of(make_roomy(name)) is world
    assert world_of(make(name, name)) is world


@pytest.mark.parametrize("other", ["qbabyai/danger", None, 3, GridTask])
def test_what_is_neither_an_environment_nor_a_task_has_no_world(other: object) -> None:
    for function in (world_of, registry.register):
        with pytest.raises(TypeError, match="is neither an environment nor a task"):
            function(other)


@pytest.mark.usefixtures("kept")
def test_one_program_plays_all_levels_of_qbabyai() -> None:
    grids = (
        make("qbabyai/open-door"),
        make_roomy("qbabyai/danger"),
        make("qbabyai/danger", "qbabyai/open-door"),
    )
    assert len({shared_program(env) for env in grids}) == 1
    game = make("qtextworld/take-1")
    assert shared_program(game) is game


def test_a_task_is_looked_for_in_one_world_only() -> None:
    assert registry.find_task_of(GridTask, "qbabyai/danger") is not None
    for family, name, other in (
        (GridTask, "qtextworld/take-1", "qbabyai/object-in-box, "),
        (Task, "qbabyai/danger", "qtextworld/take-1, "),
    ):
        with pytest.raises(ValueError, match=f"{name!r} is of another world; here it is one of {other}"):
            registry.find_task_of(family, name)


def test_a_world_of_ones_own_has_its_own_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "WORLDS", dict(WORLDS))
    dishes = Chore("chores/dishes")
    made = make("qbabyai/danger")
    chores = replace(
        WORLDS["qbabyai"],
        name="chores",
        title="Chores",
        task_type=Chore,
        paper_tasks=lambda: (dishes,),
        make=lambda task: made,
    )
    with pytest.raises(ValueError, match="unknown task 'chores/dishes'"):
        make("chores/dishes")
    registry.register_world(chores)
    assert world_of(dishes) is chores and find_task("chores/dishes") is dishes
    assert make("chores/dishes") is made and "chores/dishes" in registry.task_names()
    with pytest.raises(ValueError, match="tasks of Chores and of Q-BabyAI cannot be mixed"):
        make("chores/dishes", "qbabyai/danger")
    with pytest.raises(ValueError, match="a world named 'chores' is registered already"):
        registry.register_world(chores)
