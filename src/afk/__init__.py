"""Asking for Knowledge: environments that answer, and agents that learn when and what to ask.

import afk

env = afk.make("CS")                                  # Object in Box + Danger
agent = afk.load_agent("pretrained", "CS")
print(afk.evaluate(agent, "CS", episodes=100)["success"])
record = afk.train("S", steps=200_000, out="runs/danger")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from afk.envs.adapters.ids import announce

if TYPE_CHECKING:
    from afk.api import evaluate as evaluate
    from afk.api import load_agent as load_agent
    from afk.api import train as train
    from afk.api import watch as watch
    from afk.envs.level_pool import advance as advance
    from afk.envs.level_pool import draw_pool as draw_pool
    from afk.envs.level_pool import start_batch as start_batch
    from afk.envs.registry import make as make
    from afk.envs.registry import register as register
    from afk.envs.registry import task_names as task_names

announce()  # to Gymnasium, if and when it is imported; this imports neither Gymnasium nor JAX
__version__ = "0.1.0"

# Imported when they are used: JAX takes a second to load, and `afk --help` does not need it.
_PUBLIC = {
    "make": "afk.envs.registry",
    "register": "afk.envs.registry",
    "task_names": "afk.envs.registry",
    "draw_pool": "afk.envs.level_pool",
    "start_batch": "afk.envs.level_pool",
    "advance": "afk.envs.level_pool",
    "load_agent": "afk.api",
    "train": "afk.api",
    "evaluate": "afk.api",
    "watch": "afk.api",
}
__all__ = [*_PUBLIC, "__version__"]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'afk' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted((*globals(), *_PUBLIC))
