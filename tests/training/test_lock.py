"""The lock of a folder that somebody else made does no harm."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from afk.training.lock import lock


@pytest.mark.parametrize("link", [os.symlink, os.link])
def test_a_lock_that_is_a_link_is_refused_and_its_target_stays(
    link: Callable[[Path, Path], None], tmp_path: Path
) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "run"
    precious.write_text("mine")
    folder.mkdir()
    link(precious, folder / "lock")
    with pytest.raises(ValueError, match=r"run/lock is a link.*remove it"), lock(folder):
        pass
    assert precious.read_text() == "mine"


def test_a_lock_holds_and_is_left_empty(tmp_path: Path) -> None:
    with lock(tmp_path):
        with pytest.raises(ValueError, match=f"is in use by process {os.getpid()}"), lock(tmp_path):
            pass
        assert str(os.getpid()) in (tmp_path / "lock").read_text()
    assert (tmp_path / "lock").read_text() == ""
    (tmp_path / "lock").write_bytes(b"\xff\xfe")  # whatever it holds
    with lock(tmp_path):
        pass
