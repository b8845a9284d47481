"""Games with short texts of our own, which need neither `textworld` nor anybody's cache."""

from dataclasses import dataclass

from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.bank import Bank, make_bank
from afk.envs.qtextworld.levels.grammar import Block
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world.things import PIECES


@dataclass(frozen=True)
class ShortTask(Task):
    """Games whose texts fit in fewer tokens."""

    @property
    def text_length(self) -> int:
        return 112


def small_bank() -> Bank:
    """Two intros, and two blocks for every piece."""
    blocks = [
        [
            Block(
                f"a closed {piece.name}.", f"an empty {piece.name}.", f"{verb} the {piece.name} you see", "."
            )
            for verb in ("at", "by")
        ]
        for piece in PIECES
    ]
    return make_bank(("a kitchen.", "you enter a kitchen."), blocks)


def small_game(*, ingredients: int = 1, max_steps: int = 20) -> QTextWorld:
    """An environment of such games."""
    task = ShortTask(f"short/take-{ingredients}", ingredients=ingredients, max_steps=max_steps)
    return QTextWorld(task, small_bank())
