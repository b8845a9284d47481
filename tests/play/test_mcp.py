"""The MCP server through the SDK's own client: in memory, over stdio, over HTTP."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from typing import Any

import pytest

from afk.play.expert import make_expert

mcp = pytest.importorskip("mcp", reason="an optional extra")
COMMAND = [sys.executable, "-m", "afk", "mcp"]


async def call(client: Any, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    text = result.content[0].text
    if result.is_error:
        raise ValueError(text)
    return text


async def win(client: Any, task: str) -> str:
    """Play a game with the expert who reads; returns what is seen last."""
    started = await call(client, "start_game", task=task, macros=True)
    game, rules, seen = started.split("\n\n", 2)
    game, expert = game.removeprefix("game: "), make_expert(rules)
    while "The episode is over" not in seen:
        tool, line = expert.reply(seen)
        seen = await call(client, tool, game=game, **{"question" if tool == "ask" else "action": line})
    assert "Reward so far: 0." in await call(client, "show_rules", game=game)
    return seen


async def play_with(server: Any, games: int = 1) -> None:
    async with mcp.Client(server) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"start_game", "act", "ask", "show_rules"}
        assert set(tools["act"].input_schema["required"]) == {"game", "action"}
        ended = await asyncio.gather(*(win(client, "C") for _ in range(games)))
        assert all("The episode is over: success." in seen for seen in ended)
        for tool, arguments, refusal in (
            ("act", {"game": "nothing", "action": "left"}, "there is no game 'nothing'"),
            ("start_game", {"task": "nothing"}, "unknown task 'nothing'"),
            ("start_game", {"task": "C", "level": 10**9}, "the level is a number from 0 to 999"),
            ("act", {"action": "left"}, "game"),
        ):
            with pytest.raises(ValueError, match=refusal):
                await call(client, tool, **arguments)


def test_in_memory() -> None:
    from afk.play.mcp import make_server

    asyncio.run(play_with(make_server(), games=2))


def test_the_game_left_longest_makes_room() -> None:
    from afk.play.mcp import Games

    games = Games(most=2)
    ids = [games.start_game("C", level=0).split("\n")[0].removeprefix("game: ") for _ in range(3)]
    assert games.act(ids[2], "left") and games.show_rules(ids[1])
    with pytest.raises(ValueError, match="there is no game"):
        games.act(ids[0], "left")


@pytest.mark.slow
def test_over_stdio() -> None:
    asyncio.run(
        play_with(mcp.StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ)))
    )


@pytest.mark.slow
def test_over_http() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with subprocess.Popen([*COMMAND, "--http", "--port", str(port)], stderr=subprocess.DEVNULL) as server:
        try:
            for _ in range(600):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            asyncio.run(play_with(f"http://127.0.0.1:{port}/mcp"))
        finally:
            server.terminate()
