"""Folders that one process at a time works in, on all machines that see them."""

import errno
import fcntl
import os
import socket
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

LOCK_FILE = "lock"  # the file in a locked folder
_PAUSE = 0.5  # seconds between two looks at a folder that is in use


@contextmanager
def lock(folder: Path, *, wait: bool = False, file: str = LOCK_FILE) -> Iterator[None]:
    """Have a folder for oneself until the block is left, or until the process is over, however it ends.

    The operating system holds the lock, so a process that was killed holds none. On a shared file system it
    reaches over machines.

    Args:
        folder: made if it is not there.
        wait: until whoever has it is done; otherwise a ValueError that names them.
        file: what the file in it is called.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _open(folder / file) as held:
        while not _lock(held):
            if not wait:
                raise ValueError(f"{folder} is in use by {_holder(held)}")
            time.sleep(_PAUSE)
        # The file stays: if it were removed, two could each lock a file of that name.
        held.truncate(0)
        print(f"process {os.getpid()} on {socket.gethostname()}", file=held, flush=True)
        try:
            yield
        finally:
            held.truncate(0)


def _open(path: Path) -> IO[str]:
    """The file of a lock, to be emptied and written; a ValueError if it is another file by a link."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        if error.errno != errno.ELOOP:
            raise
        raise ValueError(f"{path} is a link, not the file of a lock: remove it") from error
    held = os.fdopen(descriptor, "a+", errors="replace")
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        held.close()
        raise ValueError(f"{path} is a link, not the file of a lock: remove it")
    return held


def _lock(file: IO[str]) -> bool:
    """Whether the lock could be had."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise OSError(error.errno, f"cannot be locked: {error.strerror}", str(file.name)) from error
    return True


def _holder(file: IO[str]) -> str:
    file.seek(0)
    return file.read(200).strip() or "another process"
