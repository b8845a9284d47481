"""The server as programs meet it: what it tells, and how it bears what it should not be sent."""

import json
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from afk.envs.registry import make, task_names
from afk.experiments.by_hand import record_policy
from afk.experiments.recorder import record_episode
from afk.experiments.shelf import SHIPPED, SHOWN, find_agent, play_on, shipped_tasks
from afk.view.guard import LARGEST_BODY
from afk.view.library import LEVELS, Library, play_by_hand
from afk.view.page import export_page
from afk.view.sessions import LONGEST_LINE

from .conftest import served

GRID, TEXT = "qbabyai/danger", "qtextworld/take-1"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(viewer: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=viewer, timeout=60) as client:
        yield client


def episode(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.get("api/episode", params={"agent": "expert", "seed": 0, "level": 0} | fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def start(client: httpx.Client, task: str = GRID, **fields: Any) -> dict[str, Any]:
    answer = client.post("api/play", json={"task": task, "seed": 0, "level": 0, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


def check_refusal(answer: httpx.Response, status: int, said: str) -> None:
    assert answer.status_code == status, answer.text
    (sentence,) = answer.json().values()
    assert re.search(said, sentence) and "\n" not in sentence and "Traceback" not in answer.text


def test_an_episode_is_told_as_it_was_recorded(client: httpx.Client) -> None:
    recording = record_policy(play_by_hand(GRID), "expert", seed=2, level=1)
    told = episode(client, task=GRID, seed=2, level=1)
    assert told["instruction"] == recording.instruction and told["ending"]["how"] == "success"
    assert len(told["moments"]) == len(recording.steps) + 1
    states = [*(step.state for step in recording.steps), recording.last_state]
    for moment, state in zip(told["moments"], states, strict=True):
        frame = moment["frame"]
        assert bytes.fromhex(frame["cells"]) == state.grid.tobytes()
        assert (frame["position"], frame["direction"]) == (state.position.tolist(), int(state.direction))
        here = frame["position"][1] * frame["width"] + frame["position"][0]
        assert len(frame["seen"]) == state.grid.size and frame["seen"][here] == "1"
    for moment, step in zip(told["moments"][1:], recording.steps, strict=True):
        assert (moment["step"]["said"], moment["step"]["answer"]) == (step.said, step.answer)
        assert [tuple(each) for each in moment["notebook"]] == list(step.notebook)
    assert told["moments"][0]["step"] is None and told["moments"][0]["notebook"] == [
        [recording.instruction.replace(",", "")]
    ]


def test_a_trained_agent_is_shown_with_what_it_weighed(client: httpx.Client) -> None:
    agent = find_agent(SHIPPED, (GRID,))
    recording = record_episode(play_on(agent, make(GRID), name=SHIPPED), agent.network, seed=1)
    told = episode(client, task=GRID, agent=SHIPPED, seed=1)
    for moment, step in zip(told["moments"][1:], recording.steps, strict=True):
        assert moment["step"]["asking"] == pytest.approx(step.asking, abs=1e-4)
        assert moment["step"]["value"] == pytest.approx(step.value, abs=1e-3)
        assert [head["title"] for head in moment["step"]["heads"]] == [head.title for head in step.weighed]
        for shown, head in zip(moment["step"]["heads"], step.weighed, strict=True):
            assert [word for word, _, taken in shown["choices"] if taken] == [head.taken]


def test_everything_that_can_be_chosen_is_listed_and_a_shipped_agent_comes_first(
    client: httpx.Client,
) -> None:
    about = client.get("api/about").json()
    assert [task["name"] for task in about["tasks"]] == list(task_names())
    agents = {agent["name"]: agent["tasks"] for agent in about["agents"]}
    assert agents == {SHIPPED: list(shipped_tasks()), "expert": None, "random": None}
    assert about["first"] == {"task": SHOWN, "agent": SHIPPED, "seed": 0, "level": 0}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"task": "qbabyai/dangre"}, "did you mean qbabyai/danger"),
        ({"agent": "../../../etc/passwd"}, "there is no agent '../../../etc/passwd' here; choose shipped"),
        ({"agent": "/etc/passwd"}, "there is no agent"),
        ({"agent": "x" * 2000}, "there is no agent"),
        ({"seed": "-1"}, "the seed is a number such as 7, not '-1'"),
        ({"seed": "seven"}, "the seed is a number"),
        ({"seed": 2**32}, f"from 0 to {2**32 - 1}"),
        ({"level": LEVELS}, f"the level is a number from 0 to {LEVELS - 1}"),
        ({"level": "٣"}, "the level is a number"),
        (
            {"task": "qbabyai/object-in-box+danger-two-rooms", "agent": SHIPPED},
            "no agent is shipped for qbabyai/object-in-box",
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


def send_raw(address: str, content: bytes, *, hang_up: bool = False) -> bytes:
    url = httpx.URL(address)
    with socket.create_connection((url.host, url.port or 80), timeout=20) as connection:
        connection.sendall(content)
        if hang_up:
            connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


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


def test_people_play_and_watch_at_the_same_time_and_nothing_is_mixed_up(client: httpx.Client) -> None:
    turns = [["left"] * count + ["right"] * (9 - count) for count in range(10)]

    def play(lines: list[str]) -> list[str]:
        session = start(client)["session"]
        said = [client.post(f"api/play/{session}", json={"line": line}).json() for line in lines]
        return [each["moment"]["step"]["said"] for each in said]

    with ThreadPoolExecutor(20) as people:
        played = [people.submit(play, lines) for lines in turns]
        watched = [people.submit(episode, client, task=GRID, seed=seed % 3) for seed in range(10)]
        bad = [people.submit(client.post, "api/play", content=b"{", headers=JSON) for _ in range(10)]
    assert [each.result() for each in played] == turns
    assert [each.result() for each in watched] == [episode(client, task=GRID, seed=n % 3) for n in range(10)]
    assert {each.result().status_code for each in bad} == {400}


def test_one_game_takes_its_steps_one_after_the_other(client: httpx.Client) -> None:
    session = start(client)["session"]
    with ThreadPoolExecutor(8) as people:
        said = [people.submit(client.post, f"api/play/{session}", json={"line": "left"}) for _ in range(16)]
    numbers = sorted(each.result().json()["moment"]["step"]["number"] for each in said)
    assert numbers == list(range(1, 17))


def test_a_game_in_text_is_told_with_its_commands_and_begun_anew_from_what_was_said(
    client: httpx.Client,
) -> None:
    begun = start(client, TEXT)
    first = begun["episode"]["moments"][0]["frame"]
    assert first["commands"] and not first["room"].startswith("you find yourself")
    lines = [*first["commands"][:1], "ask Charlie where's the red apple?"]
    _, said = (client.post(f"api/play/{begun['session']}", json={"line": line}).json() for line in lines)
    assert said["moment"]["step"]["answer"] and said["ending"] is None
    again = start(client, TEXT, lines=lines)["episode"]
    assert again["moments"][-1] == said["moment"] and len(again["moments"]) == 3


def test_our_own_mistakes_are_not_shown_as_traces(short_texts: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Library) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(Library, "describe", fail)
    with served(Library()) as address:
        answer = httpx.get(f"{address}api/about")
        check_refusal(answer, 500, "something went wrong")
        assert "secret" not in answer.text


def test_too_many_at_once_are_asked_to_come_again(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afk.view.server._MOST_WAITING", 0)
    check_refusal(client.get("api/about"), 503, "try again in a moment")
    monkeypatch.undo()
    assert client.get("api/about").status_code == 200


def test_an_exported_page_is_whole_and_nothing_in_it_ends_its_script(client: httpx.Client) -> None:
    params = {"task": GRID, "agent": "random", "seed": 0, "level": 0}
    answer = client.get("episode.html", params=params)
    assert 'filename="afk-qbabyai-danger-random-0-0.html"' in answer.headers["content-disposition"]
    assert not re.search(r"""(src|href)="(?!data:)""", answer.text)
    sly = export_page(episode(client, task=GRID) | {"instruction": "</script><script>alert(1)</script>"})
    assert "<script>alert" not in sly


def test_the_command_serves_on_loopback_and_says_where(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "afk", "view", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[0]
        try:
            assert re.fullmatch(r"http://127\.0\.0\.1:[0-9]+/", address)
            assert "<title>AFK" in httpx.get(address).text
            port = str(httpx.URL(address).port)
            taken = subprocess.run(
                [*command[:-1], port], capture_output=True, text=True, check=False, cwd=tmp_path
            )
            assert taken.returncode == 2 and "--port names another" in taken.stderr
            assert taken.stderr.count("\n") == 1
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 130  # at once, though an agent may be in the middle of compiling
