"""The language of Q-TextWorld: verbs, queries, sentences, and how text becomes tokens (appendix A.2)."""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from afk.envs.qtextworld.world.things import COOKINGS, CUTS, HEATS, PIECES, ROOM, THINGS
from afk.language import NONE, PAD, Vocabulary

ORACLE = "Charlie"
# The three ways to cook come first, so that the numbers of tokens are the same for tasks that lack them.
FUNCTIONS = ("fry", "roast", "grill", "take", "open", "slice", "dice", "chop", "where", "how")
FRY, ROAST, GRILL, TAKE, OPEN, SLICE, DICE, CHOP, WHERE, HOW = range(len(FUNCTIONS))
CUT_VERBS = (SLICE, DICE, CHOP)  # in the order of `CUTS`
COOK_VERBS = (FRY, ROAST, GRILL)  # in the order of `COOKINGS`

# Words of furniture that none of the paper's four tasks has; its agents could say them all the same.
_SPARE_ADJECTIVES = (
    "aluminum bottom compost conventional granite lower marble middle new old recent recycling serving "
    "stainless tea top trash upper utility wooden"
)
_SPARE_NOUNS = "bench countertop cupboard freezer island rack refrigerator seat"
ADJECTIVES = tuple(sorted({thing.words[0] for thing in THINGS} | {NONE, *_SPARE_ADJECTIVES.split()}))
NOUNS = tuple(
    sorted(
        {thing.words[1] for thing in THINGS}
        | {NONE, *_SPARE_NOUNS.split()}
        | {piece.name for piece in PIECES}
    )
)


def _entities() -> np.ndarray:
    """(adjectives, nouns) int8: the number of the thing or piece of that name, or -1."""
    table = np.full((len(ADJECTIVES), len(NOUNS)), -1, np.int8)
    names = [*(thing.words for thing in THINGS), *((NONE, piece.name) for piece in PIECES)]
    for number, (adjective, noun) in enumerate(names):
        table[ADJECTIVES.index(adjective), NOUNS.index(noun)] = number
    return table


ENTITIES = _entities()
# Adjective and noun of every thing and piece, as indices: (things + pieces, 2) int32.
NAME_WORDS = np.array(
    [np.argwhere(number == ENTITIES)[0] for number in range(len(THINGS) + len(PIECES))], np.int32
)

MISSION = (
    "You find yourself at friend's house and you are both hungry! Collect some",
    f"to prepare a delicious meal. Ask {ORACLE} to know where to find each ingredient and for the recipe "
    "directions.",
)
QUERIES = ("where", "how")  # the function words that ask
MISSION_LENGTH = 64  # tokens of an instruction
RESPONSE_LENGTH = 32  # tokens of an answer

# What the world says to a verb that works, by its number, and to everything else.
FEEDBACK = (*["Cooked."] * 3, "Taken.", "Opened.", "Sliced.", "Diced.", "Chopped.", "Invalid command.")
INVALID = len(FEEDBACK) - 1
# Answers, around the name of what was asked for.
HEADS = ("The", "You have the", "You won't find any")
THE, YOU_HAVE, NOWHERE_HERE = range(3)
HELD, ABSENT, CANNOT = "on you.", "in here.", "cannot be cut nor cooked."
REFUSAL = "You cannot know."  # of words that every vocabulary has


def place_tail(piece: int | None) -> str:
    """How *where* ends for something in or on a piece of furniture, or in the room."""
    if piece is None:
        return f"is in the {ROOM}."
    return f"is {'in' if PIECES[piece].is_container else 'on'} the {PIECES[piece].name}."


def recipe_tail(cut: int, cooking: int) -> str:
    """How *how* ends for something to be cut and cooked like that."""
    text = f"needs to be {CUTS[cut]} and {COOKINGS[cooking]}."
    if cut:
        text += " Use a knife to cut it."
    if cooking:
        text += f" Use {HEATS[cooking - 1]} to cook it."
    return text


def describe(thing: int, cut: int, cooking: int) -> str:
    """A thing as the inventory names it: ``a diced fried red potato``."""
    states = [states[state] for states, state in ((CUTS, cut), (COOKINGS, cooking)) if state]
    name, article = THINGS[thing].name, THINGS[thing].article
    return " ".join(["a", *states, name] if states else [article, name])


def enumerate_names(names: list[str]) -> str:
    """Things one after the other: ``a, b, and c``."""
    return ", ".join(names[:-1]) + f", and {names[-1]}" if len(names) > 1 else "".join(names) or "nothing"


def split_text(text: str, *beginnings: str) -> tuple[str, str]:
    """What a text says first, one of these beginnings or a sentence of feedback, and the room after it."""
    feedback = text[: text.index(".") + 1]
    said = next((each for each in beginnings if each and text.startswith(each)), feedback)
    return said, text.removeprefix(said).strip()


def tokenise(text: str) -> list[str]:
    """Words in lower case and punctuation, each a token: ``isn't`` is one word, ``...`` one mark."""
    return re.findall(r"[a-z0-9]+(?:['-][a-z0-9]+)*|\.{3}|[^\sa-z0-9]", text.lower())


@dataclass(frozen=True)
class TextVocabulary(Vocabulary):
    """A vocabulary of more words than fit in a byte, over running text with punctuation."""

    def encode(self, text: str, length: int) -> np.ndarray:
        """The text as (length,) uint16, padded at the end."""
        numbers = [self.token(word) for word in tokenise(text)]
        if len(numbers) > length:
            raise ValueError(f"{text[:40]!r}... has {len(numbers)} tokens, at most {length} fit")
        return np.array(numbers + [PAD] * (length - len(numbers)), np.uint16)

    def token(self, word: str) -> int:
        """The number of a word; a ValueError if the vocabulary lacks it."""
        if word not in self.numbers or not word:
            raise ValueError(
                f"unknown word {word!r}; the vocabulary of the text bank has {len(self.words)} words"
            )
        return self.numbers[word]

    def decode(self, numbers: ArrayLike) -> str:
        """The text that a (length,) row of tokens stands for."""
        text = " ".join(self.tokens[int(number)] for number in np.asarray(numbers) if number != PAD)
        return re.sub(r" ([.,!?:;])", r"\1", text)


def functions(*, cook: bool) -> tuple[str, ...]:
    """The function words of tasks with or without cooking: 10 or 7."""
    return FUNCTIONS if cook else FUNCTIONS[len(COOK_VERBS) :]


def make_vocabulary(words: set[str], *, cook: bool) -> TextVocabulary:
    """A vocabulary of these words of running text and of all that Q-TextWorld itself says.

    Tokens have the same numbers with and without cooking; without it, its verbs are ordinary words.
    """
    own = [
        *MISSION, *FEEDBACK, *HEADS, HELD, ABSENT, CANNOT, place_tail(None), ", and nothing",
        *(place_tail(piece) for piece in range(len(PIECES))),
        *(recipe_tail(cut, cooking) for cut in range(len(CUTS)) for cooking in range(len(COOKINGS))),
        *(describe(thing, 0, 0) for thing in range(len(THINGS))),
        "There is nothing on the floor. You are carrying:",
    ]  # fmt: skip
    known = {*NOUNS, *ADJECTIVES, *FUNCTIONS}
    rest = sorted((words | {word for text in own for word in tokenise(text)}) - known)
    return TextVocabulary(
        nouns=NOUNS,
        adjectives=ADJECTIVES,
        functions=functions(cook=cook),
        verbs=(),
        others=(
            *(word for word in rest if word[0].isalnum()),
            *(() if cook else FUNCTIONS[: len(COOK_VERBS)]),
        ),
        glue=tuple(word for word in rest if not word[0].isalnum()),
    )
