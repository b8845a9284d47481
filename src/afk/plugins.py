"""Modules of one's own: what they register as they are imported is known wherever afk looks something up.

A module registers tasks, clauses, agents, networks or algorithms when it is imported. It is found in one of
two ways, and no code of afk has to be changed for it:

- it is named: ``afk eval expert --task ... --import my_module``, or in the variable ``AFK_IMPORT``;
- its package is installed and says so, in the entry point group ``afk.plugins``.

Names stand in ``AFK_IMPORT`` from then on, so that processes that are started know the modules as well.
"""

import os
import sys
from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path

GROUP = "afk.plugins"
VARIABLE = "AFK_IMPORT"
_loaded: set[str] = set()  # what has been imported, or is being imported just now


def add_modules(names: Sequence[str]) -> None:
    """Import modules here and in processes that are started from here; a ValueError if one cannot be.

    Args:
        names: of modules, or files that end in ``.py``; the current folder is searched as well.
    """
    given = [str(Path(name).resolve()) if name.endswith(".py") else name for name in names]
    for name in given:
        _load(name)
    os.environ[VARIABLE] = os.pathsep.join(dict.fromkeys([*named_modules(), *given]))


def named_modules() -> list[str]:
    """What ``AFK_IMPORT`` names."""
    return [name for name in os.environ.get(VARIABLE, "").split(os.pathsep) if name]


def load_plugins() -> None:
    """Import what has not been imported yet: installed plugins, and modules that are named.

    Whoever looks up a task, an agent, a network or an algorithm calls it first. A plugin may look things up
    itself as it is imported.
    """
    for name in (*_installed(), *named_modules()):
        _load(name)


@cache
def _installed() -> tuple[str, ...]:
    """The modules that installed packages name."""
    return tuple(entry.module for entry in entry_points(group=GROUP))


def _load(name: str) -> None:
    """Import a module by its name, or by its file, unless that was done or is being done."""
    if name in _loaded:
        return
    path = Path(name)
    folder, module = (str(path.parent), path.stem) if path.suffix == ".py" else (os.getcwd(), name)
    if folder not in sys.path:
        sys.path.append(folder)  # behind all that is installed, so that nothing is hidden by a file in it
    _loaded.add(name)
    try:
        found = import_module(module)
    except ImportError as error:
        _loaded.remove(name)
        raise ValueError(f"{name} cannot be imported: {error}") from error
    file = getattr(found, "__file__", None)
    if path.suffix == ".py" and (file is None or not path.samefile(file)):
        raise ValueError(f"{name} cannot be imported: another module is called {module}, rename the file")
