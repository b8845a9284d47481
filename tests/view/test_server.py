"""The server as programs meet it: what it shows, to one and to many at the same time."""

import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from afk.envs.registry import make, task_names
from afk.episodes.interactive import trace_policy
from afk.episodes.tracer import trace_episode
from afk.training.build import play_by_plan
from afk.training.pretrained import PRETRAINED, SHOWN, find_agent, play_on, pretrained_tasks
from afk.view.page import export_page

from .requests import GRID, JSON, TEXT, start, watch


def test_an_episode_is_shown_as_it_was_traced(client: httpx.Client) -> None:
    trace = trace_policy(play_by_plan(GRID), "expert", seed=2, level=1)
    found = watch(client, task=GRID, seed=2, level=1)
    assert found["instruction"] == trace.instruction and found["ending"]["how"] == "success"
    assert len(found["moments"]) == len(trace.steps) + 1
    states = [*(step.state for step in trace.steps), trace.last_state]
    for moment, state in zip(found["moments"], states, strict=True):
        frame = moment["frame"]
        assert bytes.fromhex(frame["cells"]) == state.grid.tobytes()
        assert (frame["position"], frame["direction"]) == (state.position.tolist(), int(state.direction))
        here = frame["position"][1] * frame["width"] + frame["position"][0]
        assert len(frame["seen"]) == state.grid.size and frame["seen"][here] == "1"
    for moment, step in zip(found["moments"][1:], trace.steps, strict=True):
        assert (moment["step"]["said"], moment["step"]["answer"]) == (step.said, step.answer)
        assert [tuple(each) for each in moment["notebook"]] == list(step.notebook)
    assert found["moments"][0]["step"] is None and found["moments"][0]["notebook"] == [
        [trace.instruction.replace(",", "")]
    ]


def test_a_trained_agent_is_shown_with_what_it_weighed(client: httpx.Client) -> None:
    agent = find_agent(PRETRAINED, (GRID,))
    trace = trace_episode(play_on(agent, make(GRID), name=PRETRAINED), agent.network, seed=1)
    found = watch(client, task=GRID, agent=PRETRAINED, seed=1)
    for moment, step in zip(found["moments"][1:], trace.steps, strict=True):
        assert moment["step"]["asking"] == pytest.approx(step.asking, abs=1e-4)
        assert moment["step"]["value"] == pytest.approx(step.value, abs=1e-3)
        assert [head["title"] for head in moment["step"]["heads"]] == [head.title for head in step.weighed]
        for shown, head in zip(moment["step"]["heads"], step.weighed, strict=True):
            assert [word for word, _, taken in shown["choices"] if taken] == [head.taken]


def test_everything_that_can_be_chosen_is_listed_and_a_pretrained_agent_comes_first(
    client: httpx.Client,
) -> None:
    about = client.get("api/about").json()
    assert [task["name"] for task in about["tasks"]] == list(task_names())
    agents = {agent["name"]: agent["tasks"] for agent in about["agents"]}
    assert agents == {PRETRAINED: list(pretrained_tasks()), "expert": None, "random": None}
    shown = [each["task"] for each in about["gallery"]]
    assert sorted(shown) == [*pretrained_tasks()] and shown[:2] == ["qbabyai/object-in-box", "qbabyai/danger"]
    assert about["first"] == {"task": SHOWN, "agent": PRETRAINED, "seed": 0, "level": 0}


def test_people_play_and_watch_at_the_same_time_and_nothing_is_mixed_up(client: httpx.Client) -> None:
    turns = [["left"] * count + ["right"] * (9 - count) for count in range(10)]

    def play(lines: list[str]) -> list[str]:
        session = start(client)["session"]
        said = [client.post(f"api/play/{session}", json={"line": line}).json() for line in lines]
        return [each["moment"]["step"]["said"] for each in said]

    with ThreadPoolExecutor(20) as people:
        played = [people.submit(play, lines) for lines in turns]
        watched = [people.submit(watch, client, task=GRID, seed=seed % 3) for seed in range(10)]
        bad = [people.submit(client.post, "api/play", content=b"{", headers=JSON) for _ in range(10)]
    assert [each.result() for each in played] == turns
    assert [each.result() for each in watched] == [watch(client, task=GRID, seed=n % 3) for n in range(10)]
    assert {each.result().status_code for each in bad} == {400}


def test_one_game_takes_its_steps_one_after_the_other(client: httpx.Client) -> None:
    session = start(client)["session"]
    with ThreadPoolExecutor(8) as people:
        said = [people.submit(client.post, f"api/play/{session}", json={"line": "left"}) for _ in range(16)]
    numbers = sorted(each.result().json()["moment"]["step"]["number"] for each in said)
    assert numbers == list(range(1, 17))


def test_a_game_in_text_is_shown_with_its_commands_and_begun_anew_from_what_was_said(
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


def test_an_exported_page_is_whole_and_nothing_in_it_ends_its_script(client: httpx.Client) -> None:
    params = {"task": GRID, "agent": "random", "seed": 0, "level": 0}
    answer = client.get("episode.html", params=params)
    assert 'filename="afk-qbabyai-danger-random-0-0.html"' in answer.headers["content-disposition"]
    session = start(client, lines=["left"])["session"]
    played = client.get(f"play/{session}/episode.html")
    assert 'filename="afk-qbabyai-danger-by-hand-0-0.html"' in played.headers["content-disposition"]
    assert not re.search(r"""(src|href)="(?!data:)""", answer.text)
    sly = export_page(watch(client, task=GRID) | {"instruction": "</script><script>alert(1)</script>"})
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
