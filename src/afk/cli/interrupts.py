"""Ctrl-C while modules are imported, when there is nothing to clean up yet."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def leave_at_once() -> Iterator[None]:
    """Have Ctrl-C end the process quietly in the block, unless somebody else handles it.

    Extension modules that are interrupted as they are imported say that they are broken, not that somebody
    pressed Ctrl-C.
    """
    is_ours = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_ours:
        signal.signal(signal.SIGINT, _leave)
    yield
    if is_ours:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    os._exit(130)
