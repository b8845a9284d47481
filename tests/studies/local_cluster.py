"""Starts a cluster as `afk sweep --ray local` does; prints what listens where, and who is let in, as JSON."""

import json
import os
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from afk.studies.cluster import LOCAL, Resources, connect

TOKEN = "RAY_AUTH_TOKEN"
GUEST = "import ray, sys; ray.init(address=sys.argv[1], logging_level='ERROR', log_to_driver=False)"


def descendants(process: int) -> list[int]:
    """The processes that a process started, and those that they did."""
    children = Path(f"/proc/{process}/task").glob("*/children")
    found = [int(child) for each in children for child in each.read_text().split()]
    return found + [more for child in found for more in descendants(child)]


def listening(process: int) -> list[str]:
    """The addresses that a process listens on, as Linux writes them in hexadecimal digits."""
    opened = {os.readlink(each) for each in Path(f"/proc/{process}/fd").iterdir() if each.is_symlink()}
    lines = [line for each in ("tcp", "tcp6") for line in Path(f"/proc/net/{each}").read_text().splitlines()]
    rows = [line.split() for line in lines]
    return [row[1] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in opened]


def is_let_in(address: str, token: str | None) -> bool:
    """Whether a process that has this token, or none, can use the cluster."""
    environment = {name: value for name, value in os.environ.items() if name != TOKEN}
    environment |= {"HOME": sys.argv[1]} | ({} if token is None else {TOKEN: token})  # HOME may hold a token
    command = [sys.executable, "-c", GUEST, address]
    return subprocess.run(command, env=environment, capture_output=True, timeout=90).returncode == 0


def main() -> None:
    """Start it and look."""
    with connect(LOCAL, Resources(), Console()) as ray:
        worker = ray.get(ray.remote(lambda: os.getpid()).remote())
        family, token = [os.getpid(), *descendants(os.getpid())], os.environ[TOKEN]
        address = ray.get_runtime_context().gcs_address
        logs = Path(ray.nodes()[0]["ObjectStoreSocketName"]).parents[1] / "logs"
        written = [each.read_text(errors="replace") for each in logs.rglob("*") if each.is_file()]
        told = {
            "worked": worker in family,
            "sockets": [each for process in family for each in listening(process)],
            "let in": [is_let_in(address, each) for each in (None, "0" * 64, token)],
            "logs": len(written),
            "leaks": sum(token in each for each in written),
        }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
