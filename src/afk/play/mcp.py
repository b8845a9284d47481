"""Games as tools of an MCP server, so that any assistant can play (extra ``mcp``).

Games are numbered by an id that every call names, so that one connection can play several, and several can
play at once. A model that plays is told nothing that `Player` would not tell it.
"""

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import wraps
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from afk.play.player import Player

HOST = "127.0.0.1"
MOST_GAMES = 256  # under way at once; the one that was left longest makes room for another
_INSTRUCTIONS = (
    "Games in which some of what one has to know can only be asked. Start one with start_game, then act and "
    "ask; every call names the game's id."
)


class Games:
    """Games under way by id; each tool of the server is a method."""

    def __init__(self, most: int = MOST_GAMES) -> None:
        self._most, self._lock = most, threading.Lock()
        self._games: OrderedDict[str, tuple[Player, str]] = OrderedDict()

    def start_game(
        self, task: str, seed: int = 0, level: int = 0, mode: str = "asking", macros: bool = False
    ) -> str:
        """Start a game; returns its id, the rules, and what you see first.

        Args:
            task: what to play, such as qbabyai/danger, or letters such as CS.
            seed: what levels are drawn with.
            level: which of them it is, from 0 to 999.
            mode: no-questions, asking, or all-told.
            macros: whether actions of Q-BabyAI are macros such as `explore`.
        """
        player = Player()
        first = player.reset(task, seed=seed, level=level, mode=mode, macros=macros)
        game = secrets.token_hex(4)
        with self._lock:
            self._games[game] = player, first.partition("\n\n")[0]
            while len(self._games) > self._most:
                self._games.popitem(last=False)
        return f"game: {game}\n\n{first}"

    def act(self, game: str, action: str) -> str:
        """Do something in a game, and get what you observe then.

        Args:
            game: the id of the game.
            action: one action, as the rules name them.
        """
        with self._lock:
            return self._find(game)[0].act(action)

    def ask(self, game: str, question: str) -> str:
        """Ask a question in a game, and get the answer together with what you observe.

        Args:
            game: the id of the game.
            question: one question in a few words, as the rules describe them.
        """
        with self._lock:
            return self._find(game)[0].ask(question)

    def show_rules(self, game: str) -> str:
        """Read the rules of a game again, and what it has paid so far.

        Args:
            game: the id of the game.
        """
        with self._lock:
            player, rules = self._find(game)
            return f"{rules}\nReward so far: {player.get_reward():.3f}."

    def _find(self, game: str) -> tuple[Player, str]:
        if game not in self._games:
            raise ValueError(f"there is no game {game[:20]!r}: start one with start_game, and name its id")
        self._games.move_to_end(game)
        return self._games[game]


def make_server() -> MCPServer:
    """A server with games of its own."""
    server, games = MCPServer("afk", instructions=_INSTRUCTIONS), Games()
    for tool in (games.start_game, games.act, games.ask, games.show_rules):
        server.add_tool(_said_plainly(tool))
    return server


def _said_plainly(tool: Callable[..., str]) -> Callable[..., str]:
    """The tool, whose player is told what was wrong; of other errors the SDK tells no details."""

    @wraps(tool)
    def run(*arguments: Any, **named: Any) -> str:
        try:
            return tool(*arguments, **named)
        except ValueError as error:
            raise ToolError(str(error)) from error

    return run
