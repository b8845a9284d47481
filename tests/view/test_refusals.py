"""The server as it should not be met: how it bears what it should not be sent."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from afk.training.pretrained import PRETRAINED
from afk.view.guard import LARGEST_BODY
from afk.view.library import LEVELS, Library
from afk.view.sessions import LONGEST_LINE

from .requests import GRID, JSON, check_refusal, send_raw, start


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"task": "qbabyai/dangre"}, "did you mean qbabyai/danger"),
        ({"agent": "../../../etc/passwd"}, r"no agent '\.\./\.\./\.\./etc/passwd'.*pretrained.*expert"),
        ({"agent": "/etc/passwd"}, "there is no agent"),
        ({"agent": "x" * 2000}, "there is no agent"),
        ({"seed": "-1"}, "the seed is a number.*'-1'"),
        ({"seed": "seven"}, "the seed is a number"),
        ({"seed": 2**32}, f"from 0 to {2**32 - 1}"),
        ({"level": LEVELS}, f"the level is a number from 0 to {LEVELS - 1}"),
        ({"level": "٣"}, "the level is a number"),
        (
            {"task": "qbabyai/object-in-box+danger-two-rooms", "agent": PRETRAINED},
            r"qbabyai/object-in-box\+danger-two-rooms; there is one for .*qbabyai/danger",
        ),
        ({"seed": "9" * 3000}, "the seed is a number"),
    ],
)
def test_what_cannot_be_watched_is_refused_in_a_sentence(
    client: httpx.Client, fields: dict[str, Any], said: str
) -> None:
    params = {"task": GRID, "agent": "expert", "seed": 0, "level": 0} | fields
    for address in ("api/episode", "episode.html", "episode.gif"):
        check_refusal(client.get(address, params=params), 400, said)


def test_addresses_that_lead_nowhere_are_refused_in_a_sentence(client: httpx.Client) -> None:
    check_refusal(client.get("api/episode"), 400, "say which task")
    check_refusal(client.get("episode.exe", params={"task": GRID, "agent": "expert"}), 404, "no such page")
    check_refusal(client.get("nowhere"), 404, "no such page")


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (b"", 400, "not JSON"),
        (b"{", 400, "not JSON"),
        (b"\xff\xfe\x00", 400, "not JSON"),
        (b"[" * 30_000, 400, "not JSON"),
        (b"[]", 400, "not a JSON object"),
        (b"{}", 400, "say which task"),
        (b'{"task": 1}', 400, "say which task"),
        (b'{"task": "qbabyai/danger", "seed": 1.5}', 400, "the seed is a number"),
        (b'{"task": "qbabyai/danger", "seed": true}', 400, "the seed is a number"),
        (b'{"task": "qbabyai/danger", "seed": {"a": 1}}', 400, "the seed is a number"),
        (b'{"task": "qbabyai/danger", "lines": "forward"}', 400, "`lines` is a list"),
        (b'{"task": "qbabyai/danger", "lines": [1]}', 400, "`lines` is a list"),
        (b'{"task": "qbabyai/danger", "lines": ["sing"]}', 400, "cannot read 'sing'"),
        (b" " * (LARGEST_BODY + 1), 413, "at most"),
    ],
)
def test_messages_that_make_no_sense_are_refused_in_a_sentence(
    client: httpx.Client, content: bytes, status: int, said: str
) -> None:
    check_refusal(client.post("api/play", content=content, headers=JSON), status, said)


def test_a_message_without_end_is_cut_off(client: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(40):
            yield b" " * 4096

    check_refusal(client.post("api/play", content=pieces(), headers=JSON), 413, "at most")


def test_games_refuse_what_cannot_be_said(client: httpx.Client) -> None:
    session = start(client)["session"]
    say = f"api/play/{session}"
    check_refusal(client.post(say, json={"line": "x" * (LONGEST_LINE + 1)}), 400, f"at most {LONGEST_LINE}")
    check_refusal(client.post(say, json={"line": "where is the unicorn"}), 400, "'unicorn' does not fit")
    check_refusal(client.post(say, json={"line": None}), 400, "`line` is a command")
    check_refusal(client.post(say, json={}), 400, "`line` is a command")
    check_refusal(client.post("api/play/nobody", json={"line": "left"}), 404, "begin it anew")
    check_refusal(client.get(f"play/{session}/episode.gif"), 400, "nothing has happened yet")
    check_refusal(client.get("play/nobody/episode.html"), 404, "begin it anew")
    assert client.post(say, json={"line": "left"}).json()["moment"]["step"]["number"] == 1


def test_pages_of_other_sites_can_send_nothing(client: httpx.Client) -> None:
    body = json.dumps({"task": GRID})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        check_refusal(client.post("api/play", content=body, headers={"content-type": kind}), 415, "JSON")
    for host in ("evil.example", "127.0.0.1.evil.example", "[::1", ""):
        check_refusal(client.get("api/about", headers={"host": host}), 400, "this viewer is called")
    assert client.get("api/about", headers={"host": "localhost:1"}).status_code == 200
    embedded = {"sec-fetch-site": "cross-site"}
    check_refusal(client.get("api/about", headers=embedded), 403, "other sites")
    assert client.get("", headers=embedded).status_code == 200
    headers = client.get("").headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/static/....//server.py",
        "/static/%00",
        "/static/",
        "/../../etc/passwd",
        "/static/" + "a" * 3000,
        "/" + "a" * 9000,
        "/play/../api/about/episode.html",
    ],
)
def test_paths_outside_the_page_are_refused(viewer: str, path: str) -> None:
    answer = send_raw(viewer, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    status = int(answer.split(b" ", 2)[1])
    assert status in (400, 404, 414) and b"import" not in answer and b"root:" not in answer
    assert b"Traceback" not in answer


def test_noise_does_not_stop_the_server(viewer: str, client: httpx.Client) -> None:
    for noise in (
        b"\x00" * 1000,
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/play HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999\r\n\r\n{",
        b"POST /api/play HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -5\r\n\r\n",
        b"GET /api/about HTTP/1.1\r\nHost: 127.0.0.1\r\n" + b"X: y\r\n" * 50_000,
        b"\r\n\r\n",
    ):
        with suppress(OSError):  # hanging up is an answer as well
            assert b"Traceback" not in send_raw(viewer, noise, hang_up=True)
    check_refusal(client.put("api/about"), 405, "not for that kind of request")
    assert client.get("api/about").status_code == 200


def test_our_own_mistakes_are_not_shown_as_traces(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Library) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Library, "describe", fail)
    answer = client.get("api/about")
    check_refusal(answer, 500, "something went wrong")
    assert "secret" not in answer.text
    monkeypatch.undo()
    assert client.get("api/about").status_code == 200


def test_too_many_at_once_are_asked_to_come_again(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afk.view.server._MOST_WAITING", 0)
    check_refusal(client.get("api/about"), 503, "try again in a moment")
    monkeypatch.undo()
    assert client.get("api/about").status_code == 200
