"""The tasks of Q-TextWorld as data: points in one family of cooking games (paper, appendix A.2)."""

from dataclasses import dataclass

from afk.envs.qtextworld.world.things import FIVE_PIECES, FOODS, MORE_PIECES
from afk.envs.qtextworld.world.words import functions


@dataclass(frozen=True)
class Task:
    """What a game is drawn from.

    Attributes:
        name: ``qtextworld/...``, what the task is called everywhere.
        ingredients: how many foods are to be collected, 1 to 5.
        cut: whether each of them has to be cut in the right way; otherwise they are cut already.
        cook: whether each of them has to be cooked in the right way; otherwise they are cooked already.
        knife_held: whether the player has the knife from the start where it is needed, or has to find it.
        furniture: how many pieces of furniture stand beside the usual five, drawn from seven.
        distractors: how many foods lie about beside those that share a word with an ingredient.
        max_steps: steps until an episode is cut off.
    """

    name: str
    ingredients: int = 1
    cut: bool = False
    cook: bool = False
    knife_held: bool = True
    furniture: int = 0
    distractors: int = 0
    max_steps: int = 20

    def __post_init__(self) -> None:
        foods = sum((food.cuttable or not self.cut) and (food.cookable or not self.cook) for food in FOODS)
        for what, value, least, most in (
            ("ingredients", self.ingredients, 1, 5),
            ("furniture", self.furniture, 0, len(MORE_PIECES)),
            ("distractors", self.distractors, 0, foods - 3 * self.ingredients),
            ("max_steps", self.max_steps, self.longest_plan, 1_000),
        ):
            if not least <= value <= most:
                raise ValueError(f"task {self.name!r}: {what} is from {least} to {most}, not {value}")

    @property
    def functions(self) -> tuple[str, ...]:
        """The first words of its commands and queries."""
        return functions(cook=self.cook)

    @property
    def pieces(self) -> int:
        """How many pieces of furniture a game has."""
        return len(FIVE_PIECES) + self.furniture

    @property
    def things(self) -> int:
        """How many things a game has at most: each ingredient with two distractors, cookbook and knife."""
        return 3 * self.ingredients + self.distractors + 2

    @property
    def prepares(self) -> bool:
        """Whether *how* is a good query."""
        return self.cut or self.cook

    @property
    def finds_knife(self) -> bool:
        """Whether the player has to find the knife."""
        return self.cut and not self.knife_held

    @property
    def good_queries(self) -> int:
        """|Q_t|: where each ingredient is, how each is prepared, and where the knife is."""
        return self.ingredients * (1 + self.prepares) + self.finds_knife

    @property
    def longest_plan(self) -> int:
        """How many steps the expert needs at most."""
        found = self.ingredients + self.finds_knife
        usual, more = (sum(piece.is_container for piece in pieces) for pieces in (FIVE_PIECES, MORE_PIECES))
        containers = usual + min(self.furniture, more)
        return self.good_queries + found + min(found, containers) + self.ingredients * (self.cut + self.cook)

    @property
    def text_length(self) -> int:
        """How many tokens of feedback, description and inventory an observation holds."""
        return 384 + 32 * self.furniture + 4 * max(self.things - 8, 0)


def paper_tasks() -> tuple[Task, ...]:
    """The four tasks of the paper."""
    return (
        Task("qtextworld/take-1"),
        Task("qtextworld/take-2", ingredients=2),
        Task("qtextworld/take-1-cut", cut=True),
        Task("qtextworld/take-2-cut", ingredients=2, cut=True),
    )
