"""Our tasks by Gymnasium's ids, made known without JAX: names and lengths of episodes as plain data.

`import afk` calls `announce`, in whichever order it and `import gymnasium` stand, and so does `afk.register`
with a task of your own. What is registered are strings; the environments behind them are imported when one is
made.
"""

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, NamedTuple

_HERE = "afk.envs.adapters.gymnasium"
_CLAUSES = ("object-in-box", "danger", "go-to-favorite", "open-door")
# What each form of a world is called and made by: an ending of the family, an environment, a batch of them.
_FORMS: dict[str, tuple[tuple[str, str, str | None], ...]] = {
    "qbabyai": (("", "QueryableEnv", "QueryableVectorEnv"), ("Text", "GridTextEnv", None)),
    "qtextworld": (("", "TextEnv", "TokenVectorEnv"),),
}


class Listed(NamedTuple):
    """A task as Gymnasium lists it.

    Attributes:
        world: whose forms it has.
        family: what its ids begin with.
        max_steps: the length of its longest episodes.
    """

    world: str
    family: str
    max_steps: int


_GRID_STEPS = {
    "object-in-box": 81,
    "danger": 49,
    "go-to-favorite": 225,
    "open-door": 98,
    "object-in-box+danger": 49,
    "object-in-box+go-to-favorite": 225,
    "object-in-box+open-door": 98,
    "danger+go-to-favorite": 98,
    "danger+open-door": 98,
    "go-to-favorite+open-door": 225,
    "object-in-box+danger+go-to-favorite": 98,
    "object-in-box+danger+open-door": 147,
    "object-in-box+go-to-favorite+open-door": 225,
    "danger+go-to-favorite+open-door": 147,
    "object-in-box+danger+go-to-favorite+open-door": 441,
}
# The tasks that come with afk.
OURS: dict[str, Listed] = {
    **{f"qbabyai/{name}": Listed("qbabyai", "QBabyAI", steps) for name, steps in _GRID_STEPS.items()},
    "qbabyai/object-in-box+danger-two-rooms": Listed("qbabyai", "QBabyAI", 98),
    **{
        f"qtextworld/{name}": Listed("qtextworld", "QTextWorld", 20)
        for name in ("take-1", "take-2", "take-1-cut", "take-2-cut")
    },
    **{f"released/{name}": Listed("qbabyai", "Released", steps) for name, steps in _GRID_STEPS.items()},
}


def announce(tasks: Mapping[str, Listed] = OURS) -> None:
    """Make ids of tasks known to Gymnasium: now if it is imported, otherwise as soon as it is, if ever."""
    if sys.modules.get("gymnasium"):
        register_ids(tasks)
    else:
        sys.meta_path.insert(0, _WaitForGymnasium(tasks))


def register_ids(tasks: Mapping[str, Listed]) -> None:
    """Make tasks known to `gymnasium.make` and `gymnasium.make_vec`; what is known already stays."""
    gymnasium: Any = import_module("gymnasium")  # which whoever only trains does not have

    for name, task in tasks.items():
        for ending, single, batch in _FORMS.get(task.world, ()):  # a world of one's own has none
            spelled = spell_id(task.family + ending, name)
            if spelled not in gymnasium.registry:
                gymnasium.register(
                    spelled,
                    entry_point=f"{_HERE}:{single}",
                    vector_entry_point=f"{_HERE}:{batch}" if batch else None,
                    max_episode_steps=task.max_steps,
                    kwargs={"name": name},
                )


def spell_id(family: str, name: str) -> str:
    """An id: ``qbabyai/danger+open-door`` of the family ``QBabyAI`` is ``QBabyAI-Danger-OpenDoor-v0``."""
    # What follows a clause, as in `danger-two-rooms`, is a word of its own.
    parts = re.findall(rf"(?:{'|'.join(_CLAUSES)})\b|[^+]+", name.partition("/")[2])
    words = ["".join(word.capitalize() for word in re.split(r"\W+", part)) for part in parts]
    return "-".join([family, *words, "v0"])


class _WaitForGymnasium(MetaPathFinder):
    """Registers ids right after Gymnasium has been imported; finds nothing itself."""

    def __init__(self, tasks: Mapping[str, Listed]) -> None:
        self._tasks = tasks

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Gymnasium's module, as others find it, with ids registered once it has been executed."""
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = find_spec(name)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_register(module: ModuleType) -> None:
            execute(module)
            register_ids(self._tasks)

        spec.loader.exec_module = execute_and_register
        return spec
