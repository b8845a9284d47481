"""Ray on this machine alone: nobody else can reach it, and nobody without its token is let in."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from afk.studies.cluster import check_loopback

LOOPBACK = {  # as Linux writes 127.0.0.1, ::ffff:127.0.0.1 and ::1
    "0100007F",
    "0000000000000000FFFF00000100007F",
    "00000000000000000000000001000000",
}


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install '.[sweep]'")
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="this system does not list its sockets")
def test_a_local_cluster_is_on_loopback_and_lets_nobody_in_without_its_token(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, Path(__file__).with_name("local_cluster.py"), tmp_path]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout.splitlines()[-1])
    assert told["worked"] and len(told["sockets"]) > 3
    assert {socket.partition(":")[0] for socket in told["sockets"]} <= LOOPBACK
    assert told["let in"] == [False, False, True]  # without a token, with a wrong one, with the right one
    assert told["logs"] > 3 and not told["leaks"]


def test_a_local_cluster_that_others_can_reach_is_refused() -> None:
    check_loopback([{"NodeManagerAddress": "127.0.0.1"}])
    with pytest.raises(ValueError, match=r"Ray listens on 10\.0\.0\.1 for other machines; start the sweep"):
        check_loopback([{"NodeManagerAddress": "10.0.0.1"}])
