"""The viewer: requests that it must refuse, and episodes without end, with the memory that they take."""

import json
import random
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urlsplit

from .common import Tally

_PATIENCE = 120.0  # seconds for an answer
_LOOKS = 100  # at the memory, along all episodes
_WARM = 1000  # episodes in which programs may still be compiled for what nobody played before
_GROWTH = 1.1  # of the most memory in the second half, compared with the first, from which it is not bounded
_ODD = (
    "",
    " ",
    "x",
    "-1",
    "1.5",
    "nan",
    "9" * 400,
    "1e9",
    "../../etc/passwd",
    "\0",
    "%00",
    "日本",
    "\uff10",  # a digit, of another script
    "[]",
    "x" * 3000,
)
_BODIES = (
    *(b"", b"{", b"null", b"[]", b"3", b'"x"', b"\xff\xfe", b'{"task": NaN}', b"[" * 30_000, b"9" * 5000),
    *(
        b"{}",
        b'{"task": 3}',
        b'{"task": "S", "seed": 1.5}',
        b'{"task": "S", "level": 1000}',
        b'{"task": "S", "lines": 3}',
    ),
    *(
        b'{"task": "S", "lines": [3]}',
        b'{"task": "S", "seed": true}',
        b'{"task": ["S"]}',
        b'{"line": "left"}',
    ),
    *(b'{"task": "S", "lines": ["' + b"x" * 300 + b'"]}', b'{"x": "' + b"x" * 70_000 + b'"}'),
)
_RAW = (
    *(b"\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00", b"GET / HTTP/9.9\r\n\r\n", b"\0" * 500),
    *(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n", b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n"),
    *(b"POST /api/play HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",),
)


class Viewer(NamedTuple):
    """A viewer that runs: its process and its address."""

    process: subprocess.Popen[str]
    host: str
    port: int

    def ask(
        self, path: str, *, method: str = "GET", body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """The status and the content of an answer."""
        connection = HTTPConnection(self.host, self.port, timeout=_PATIENCE)
        try:
            connection.request(
                method, path, body, {name.replace("_", "-"): each for name, each in headers.items()}
            )
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    @property
    def memory(self) -> float:
        """What it has of the machine's memory, in GB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024 / 1e9


@contextmanager
def _serve(folder: Path, tally: Tally) -> Iterator[Viewer]:
    """A viewer; what it says of its own mistakes is counted."""
    said = folder / "said"
    with said.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "afk", "view", "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
        )
    try:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().split()[0])
        assert address.hostname and address.port
        yield Viewer(process, address.hostname, address.port)
        if process.poll() is not None:
            tally.count("wrong_exit_codes", f"the viewer ended with {process.returncode}")
    finally:
        process.kill()
        process.wait()
    for _ in range(said.read_text(errors="replace").count("Traceback (most recent")):
        tally.count("tracebacks", f"in the viewer: {said.read_text(errors='replace').splitlines()[-1]}")


def fuzz_requests(place: Path, seed: int, most: int | None) -> Tally:
    """Send requests that must be refused in a sentence, and see that the viewer still serves.

    Args:
        place: a folder to work in.
        seed: what the order is drawn with.
        most: how many are sent; all if None.
    """
    tally = Tally("requests at the viewer")
    requests = [("GET", path, None) for path in _list_paths()]
    requests += [("POST", path, body) for path in ("/api/play", "/api/play/nosuch") for body in _BODIES]
    fields = [{"task": "S"} | {name: odd} for name in ("task", "seed", "level") for odd in _ODD]
    requests += [("POST", "/api/play", json.dumps(each).encode()) for each in fields]
    requests += [
        (method, "/api/play", b"{}") for method in ("PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "NOSUCH")
    ]
    hosts = ("evil.example", "127.0.0.1.evil.example", "", "localhost:x", "[::1", "169.254.169.254")
    random.Random(seed).shuffle(requests)
    with _serve(place, tally) as viewer:
        for method, path, body in requests[:most]:
            what = f"{method} {path[:120]} {(body or b'')[:60]!r}"
            _check(tally, viewer, what, path, method=method, body=body, content_type="application/json")
        for host in hosts[:most]:
            _check(tally, viewer, f"host {host}", "/api/about", host=host)
            _check(tally, viewer, "another site", "/api/about", sec_fetch_site="cross-site")
            _check(
                tally, viewer, "a form", "/api/play", method="POST", body=b"task=S", content_type="text/plain"
            )
        for content in _RAW[:most]:
            _send_raw(tally, viewer, content)
        status, _ = viewer.ask("/api/about")
        if status != 200:
            tally.count("wrong_exit_codes", f"after all of it, a good request has status {status}")
        tally.memory = f"{viewer.memory:.1f} GB"
    return tally


def _list_paths() -> Iterator[str]:
    """Addresses that lead to nothing."""
    for odd in _ODD:
        for name, others in (
            ("task", {"agent": "expert"}),
            ("agent", {"task": "S"}),
            ("seed", {"task": "S", "agent": "expert"}),
            ("level", {"task": "S", "agent": "expert"}),
        ):
            yield f"/api/episode?{urlencode({**others, name: odd})}"
            yield f"/episode.html?{urlencode({**others, name: odd})}"
        word = urlencode({"": odd})[1:]
        for path in (
            "/{}x",
            "/static/{}x",
            "/api/{}x",
            "/episode.{}x?task=S&agent=expert",
            "/play/{}x/episode.gif",
        ):
            yield path.replace("{}", word)
    for path in (
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static//etc/passwd",
        "/static/..%2f..%2ffiles.py",
    ):
        yield path
    yield "/api/episode?" + "a" * 5000


def _check(tally: Tally, viewer: Viewer, what: str, path: str, **request: object) -> None:
    """Count what is wrong with the answer to a request that must be refused."""
    tally.tried += 1
    try:
        status, content = viewer.ask(path, **request)  # pyright: ignore[reportArgumentType]
    except TimeoutError:
        tally.count("hangs", what)
        return
    except OSError as error:
        tally.count("wrong_exit_codes", f"{what}: {error}")
        return
    if not 400 <= status < 500:
        tally.count("wrong_exit_codes", f"{what}: status {status}")
    elif request.get("method") != "HEAD" and not _is_sentence(content):
        tally.count("unclear", f"{what}: {content[:80]!r}")


def _is_sentence(content: bytes) -> bool:
    """Whether an answer says in one line what is wrong."""
    try:
        (said,) = json.loads(content).values()
    except (ValueError, AttributeError):
        return False
    return isinstance(said, str) and bool(said) and "\n" not in said


def _send_raw(tally: Tally, viewer: Viewer, content: bytes) -> None:
    """Send what is no request; the server may answer or hang up, and must do so soon."""
    tally.tried += 1
    with socket.create_connection((viewer.host, viewer.port), timeout=_PATIENCE) as connection:
        try:
            connection.sendall(content)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except TimeoutError:
            tally.count("hangs", f"raw {content[:60]!r}")
        except OSError:  # it hung up
            return


def fuzz_episodes(place: Path, seed: int, most: int | None) -> Tally:
    """Watch episodes that nobody has seen, of all agents and tasks, and note the viewer's memory.

    Args:
        place: a folder to work in.
        seed: what tasks, agents and levels are drawn with.
        most: how many episodes; 3,000 if None.
    """
    tally, rng, count = Tally("episodes at the viewer"), random.Random(seed), most or 3000
    noted: list[tuple[int, float]] = []
    with _serve(place, tally) as viewer:
        about = json.loads(viewer.ask("/api/about")[1])
        tasks = [task["name"] for task in about["tasks"]]
        agents = [(agent["name"], agent["tasks"] or tasks) for agent in about["agents"]]
        refused: set[str] = set()  # what cannot be played here: texts that take a package
        while tally.tried < count:
            name, playable = rng.choice(agents)
            task = rng.choice(playable)
            if task.split("/")[0] in refused:
                continue
            level = {"seed": rng.randrange(2**32), "level": rng.randrange(about["levels"])}
            what = f"{name} on {task}, {level}"
            try:
                status, content = viewer.ask(
                    f"/api/episode?{urlencode({'task': task, 'agent': name, **level})}"
                )
            except TimeoutError:
                tally.tried += 1
                tally.count("hangs", what)
                continue
            if status == 400 and b"textworld" in content:
                refused.add(task.split("/")[0])
                continue
            tally.tried += 1
            if status != 200:
                tally.count("wrong_exit_codes", f"{what}: status {status}, {content[:80]!r}")
            if tally.tried % max(1, count // _LOOKS) == 0:
                noted.append((tally.tried, viewer.memory))
    # It rises and falls as programs are compiled and forgotten: what counts is how high it gets.
    middle = len(noted) // 2
    halves = [[memory for _, memory in part] for part in (noted[:middle], noted[middle:])]
    first, second = (f"{min(half):.1f} to {max(half):.1f} GB" for half in halves)
    tally.memory = f"{first} in the first half, {second} in the second"
    if count >= _WARM and max(halves[1]) > _GROWTH * max(halves[0]):
        tally.count("lost", f"memory grows: {tally.memory}")
    return tally
