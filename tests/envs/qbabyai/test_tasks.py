"""The tasks and the world are those of the paper."""

import pytest

from afk.envs import registry
from afk.envs.qbabyai.levels.tasks import Task, paper_tasks
from afk.envs.qbabyai.world import cells, view
from afk.envs.qbabyai.world.words import NAMES as ALL_NAMES
from afk.envs.qbabyai.world.words import VOCABULARY

from .levels import COLOURS, NAMES
from .paper import PAPER


def test_the_tasks_are_those_of_the_paper() -> None:
    assert (
        {f"qbabyai/{name}" for name in PAPER}
        == {task.name for task in paper_tasks()}
        < set(registry.task_names())
    )
    assert len(PAPER) == 16


@pytest.mark.parametrize("name", PAPER)
def test_a_task_is_as_the_paper_has_it(name: str) -> None:
    rooms, room_size, good_queries, ends_early = {
        "object-in-box": (1, 9, 3, True),
        "danger": (1, 7, 1, True),
        "go-to-favorite": (9, 5, 2, False),
        "open-door": (2, 7, 1, False),
        "object-in-box+danger": (1, 7, 4, True),
        "object-in-box+go-to-favorite": (9, 5, 4, True),
        "object-in-box+open-door": (2, 7, 5, True),
        "danger+go-to-favorite": (2, 7, 3, True),
        "danger+open-door": (2, 7, 2, True),
        "go-to-favorite+open-door": (9, 5, 4, False),
        "object-in-box+danger+go-to-favorite": (2, 7, 5, True),
        "object-in-box+danger+open-door": (3, 7, 6, True),
        "object-in-box+go-to-favorite+open-door": (9, 5, 5, True),
        "danger+go-to-favorite+open-door": (3, 7, 4, True),
        "object-in-box+danger+go-to-favorite+open-door": (9, 7, 7, True),
        "object-in-box+danger-two-rooms": (2, 7, 5, True),
    }[name]
    task, expected = registry.find_task_of(Task, f"qbabyai/{name}"), PAPER[name]
    assert (task.plan.rooms, task.plan.room_size, task.ends_early) == (rooms, room_size, ends_early)
    assert (task.plan.rows, task.plan.columns) == (expected.rows, expected.columns)
    assert task.max_steps == room_size**2 * rooms
    assert len(task.questions) == len(expected.questions) == good_queries
    assert task.symbol == expected.suits
    words = {
        **{"d": "what danger zone", "t": "what NAME toy", "b": "where COLOUR ball", "k": "what key"},
        **{"s": "what NAME suitcase", "x": "where COLOUR box", "w": "where COLOUR KIND"},
        "l": "where COLOUR key",
    }
    assert task.questions == tuple(words[letter] for letter in expected.questions)


def test_the_world_is_as_the_paper_counts_it() -> None:
    assert len(VOCABULARY.words) == len(set(VOCABULARY.words)) == 62
    assert (len(VOCABULARY.functions), len(VOCABULARY.adjectives), len(VOCABULARY.nouns)) == (2, 22, 24)
    assert VOCABULARY.functions == ("what", "where")
    assert not set(VOCABULARY.functions) & set(VOCABULARY.words)
    assert len(cells.ACTIONS) == 7
    assert cells.COLOURS == COLOURS
    assert ALL_NAMES == NAMES == ("jack", "mary")
    assert view.VIEW == 7
    assert registry.make("qbabyai/danger").action_sizes == (2, 7, 2, 22, 24)
    actionable = {"key", "ball", "box", "door"}
    assert actionable < set(cells.KIND_WORDS.values()) & set(VOCABULARY.nouns)
