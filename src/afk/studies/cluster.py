"""A Ray cluster, as far as sweeps use it: tasks that take resources, and survive the loss of a worker."""

import ipaddress
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from rich.console import Console

LOCAL = "local"  # the address of a cluster that is started on this machine, for this process alone
AUTO = "auto"  # of the cluster that this machine belongs to
_PATIENCE = 5.0  # seconds to wait for a cluster to answer
_STORE = 100_000_000  # bytes for what tasks give back, which is a line of text each


@dataclass(frozen=True)
class Resources:
    """What a task takes.

    Attributes:
        cpus: cores, also the threads of its programs.
        gpus: a part of one, or a whole number.
        devices: how many JAX devices it trains on; all that it is given if None.
        retries: how often a task is started again whose worker was lost.
    """

    cpus: float = 1.0
    gpus: float = 0.0
    devices: int | None = None
    retries: int = 10

    def __post_init__(self) -> None:
        for name, count in (("cpus", self.cpus), ("gpus", self.gpus)):
            if not 0 <= count < float("inf") or (count > 1 and count != int(count)):
                raise ValueError(f"--{name} is a part of one or a whole number, not {count:g}")
        if not self.cpus and not self.gpus:
            raise ValueError("a run takes something of a machine: --cpus or --gpus is above 0")


def check_ray(address: str) -> None:
    """A ValueError if Ray is not installed, or if an address is none; nobody is called yet."""
    if find_spec("ray") is None:
        raise ValueError("a sweep takes Ray: pip install 'afk-rl[sweep]'")
    if address not in (LOCAL, AUTO):
        _split(address)


@contextmanager
def connect(address: str, resources: Resources, console: Console) -> Iterator[Any]:
    """The `ray` package, connected to a cluster whose machines can carry out a task.

    Args:
        address: HOST:PORT, ``auto`` for the one this machine belongs to, or `LOCAL`.
        resources: what a task takes.
        console: where to say that there is no such machine yet.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is reported to anybody
    if address == LOCAL:
        os.environ.update(_for_this_process_alone())
    check_ray(address)
    import ray

    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    if address == LOCAL:
        options |= {"include_dashboard": False, "object_store_memory": _STORE}
    elif address != AUTO:
        check_address(address)
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        hint = "its token, if it has one, has to be known here: RAY_AUTH_MODE and RAY_AUTH_TOKEN"
        raise ValueError(f"no Ray cluster at {address} lets us in ({_first_line(error)}); {hint}") from error
    try:
        if address == LOCAL:
            check_loopback(ray.nodes())
        check_machines(ray.nodes(), address, resources, console)
        yield ray
    finally:
        ray.shutdown()


def work_through(
    ray: Any,
    do: Callable[..., str | None],
    tasks: Mapping[Any, Sequence[Any]],
    resources: Resources,
    *,
    pause: float,
) -> Iterator[tuple[Any, str | None] | None]:
    """Carry out tasks wherever there is room for them.

    Args:
        ray: from `connect`.
        do: gives back what went wrong, in a line, or None.
        tasks: its arguments, by a name for each task.
        resources: what each takes.
        pause: seconds after which to yield None if no task ended.

    Yields:
        The name of a task that ended, and what went wrong.
    """
    remote = ray.remote(
        num_cpus=resources.cpus,
        num_gpus=resources.gpus,
        max_retries=resources.retries,
        max_calls=1,  # a process for each task: devices and threads are chosen once in a process
    )(do)
    pending = {remote.remote(*arguments): name for name, arguments in tasks.items()}
    while pending:
        done, _ = ray.wait([*pending], timeout=pause)
        for reference in done:
            name = pending.pop(reference)
            try:
                yield name, ray.get(reference)
            except ray.exceptions.RayTaskError as error:
                yield name, f"{type(error.cause).__name__}: {_first_line(error.cause)}"
            except ray.exceptions.RayError as error:
                yield name, f"{type(error).__name__}: {_first_line(error)}"
        if not done:
            yield None


def take_share(resources: Resources) -> None:
    """In a worker, before JAX does anything: use what the task was given of the machine, and no more."""
    import jax

    os.environ["NPROC"] = str(max(1, int(resources.cpus)))  # threads of XLA on a CPU
    if not resources.gpus:
        jax.config.update("jax_platforms", "cpu")
    elif resources.gpus < 1:
        os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", f"{0.9 * resources.gpus:.3f}")


def _for_this_process_alone() -> dict[str, str]:
    """What Ray reads when it is imported and when it starts: loopback only, and a token of its own."""
    return {
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # of any system: no other machine joins, so all is local
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": os.environ.get("RAY_AUTH_TOKEN") or secrets.token_hex(32),
    }


def check_loopback(nodes: list[dict[str, Any]]) -> None:
    """Refuse a Ray of this machine that others can reach, as it is if it was imported before."""
    for node in nodes:
        if not ipaddress.ip_address(node["NodeManagerAddress"]).is_loopback:
            raise ValueError(
                f"Ray listens on {node['NodeManagerAddress']} for other machines; "
                "start the sweep in a process that has not imported ray yet"
            )


def check_address(address: str) -> None:
    """Refuse an address where nobody answers: Ray itself would take a minute and many lines to say so."""
    try:
        socket.create_connection(_split(address), timeout=_PATIENCE).close()
    except OSError as error:
        raise ValueError(f"no Ray cluster can be reached at {address}: {error.strerror or error}") from error


def _split(address: str) -> tuple[str, int]:
    """Host and port of an address; a ValueError if it has none."""
    try:
        parts = urlsplit(address if "//" in address else f"//{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise ValueError(f"--ray is local, auto or HOST:PORT, not {address!r}")
    return host, port


def check_machines(nodes: list[dict[str, Any]], address: str, resources: Resources, console: Console) -> None:
    """Say if no machine has what a task takes: it would wait for ever, unless such a machine joins."""
    machines = [node["Resources"] for node in nodes if node["Alive"]]
    if any(
        each.get("CPU", 0) >= resources.cpus and each.get("GPU", 0) >= resources.gpus for each in machines
    ):
        return
    most = ", ".join(f"{max(each.get(kind, 0) for each in machines):g} {kind}s" for kind in ("CPU", "GPU"))
    lacking = (
        f"no machine has {resources.cpus:g} CPUs and {resources.gpus:g} GPUs for a run (there are {most})"
    )
    if address == LOCAL:
        raise ValueError(lacking)
    console.print(f"note: {lacking}; runs wait until one joins the cluster", markup=False, highlight=False)


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
