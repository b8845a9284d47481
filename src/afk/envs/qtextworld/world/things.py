"""What stands and lies in the kitchen, as data: 12 pieces of furniture, 42 foods, the cookbook and the knife.

Everything has a number: things by the alphabet, the order in which lists name them, then pieces.
"""

from typing import NamedTuple

import numpy as np

from afk.language import NONE


class Thing(NamedTuple):
    """Something that can be taken.

    Attributes:
        name: one or two words.
        article: what its name follows in a list, as long as it is neither cut nor cooked.
        cuttable: whether it can be sliced, diced and chopped.
        cookable: whether it can be fried, roasted and grilled.
        must_be_cooked: whether no recipe wants it raw.
        is_food: whether it can be an ingredient or a distractor.
    """

    name: str
    article: str = "a"
    cuttable: bool = False
    cookable: bool = False
    must_be_cooked: bool = False
    is_food: bool = True

    @property
    def words(self) -> tuple[str, str]:
        """Its adjective and its noun."""
        *adjective, noun = self.name.split()
        return (adjective[0] if adjective else NONE), noun


class Piece(NamedTuple):
    """A piece of furniture.

    Attributes:
        name: its noun.
        adjective: what TextWorld calls it in descriptions; it is no part of the name.
        kind: its type in TextWorld's logic; descriptions name pieces in the order of their kinds.
        is_container: whether things lie in it and it can be closed; on the others things stand.
    """

    name: str
    adjective: str
    kind: str
    is_container: bool


def _foods(text: str, **properties: bool) -> tuple[Thing, ...]:
    """Foods with the same properties, ``article adjective/adjective noun`` each."""
    foods = []
    for entry in text.split(", "):
        article, *adjectives, noun = entry.split()
        names = [f"{each} {noun}" for each in adjectives[0].split("/")] if adjectives else [noun]
        foods += [Thing(name, article, **properties) for name in names]
    return tuple(foods)


FOODS = (
    *_foods(
        "some milk, some water, some vegetable/peanut/olive oil, some black pepper, some flour, some salt, "
        "some sugar"
    ),
    *_foods("some cilantro, some parsley", cuttable=True),
    *_foods(
        "an egg, a chicken wing, a chicken leg, a pork/chicken/beef/veggie meat",
        cookable=True,
        must_be_cooked=True,
    ),
    *_foods(
        "a red/white/pink tuna, a red/yellow/purple potato", cuttable=True, cookable=True, must_be_cooked=True
    ),
    *_foods(
        "a carrot, a red/white/yellow onion, a fresh lettuce, a red/yellow/green apple, a banana, "
        "a red/yellow/green tomato, a hot/green/bell/yellow/red pepper, some cheese",
        cuttable=True,
        cookable=True,
    ),
)
TOOLS = (Thing("cookbook", is_food=False), Thing("knife", is_food=False))
THINGS = tuple(sorted((*FOODS, *TOOLS)))

FIVE_PIECES = (
    Piece("stove", "conventional", "stove", is_container=False),
    Piece("oven", "conventional", "oven", is_container=True),
    Piece("counter", "wooden", "s", is_container=False),
    Piece("fridge", "stainless", "c", is_container=True),
    Piece("griller", "recent", "toaster", is_container=True),
)
MORE_PIECES = (
    Piece("bin", "trash", "c", is_container=True),
    Piece("cabinet", "wooden", "c", is_container=True),
    Piece("cart", "serving", "c", is_container=True),
    Piece("chair", "wooden", "s", is_container=False),
    Piece("drawer", "wooden", "c", is_container=True),
    Piece("shelf", "wooden", "s", is_container=False),
    Piece("table", "wooden", "s", is_container=False),
)
PIECES = FIVE_PIECES + MORE_PIECES
KINDS = ("c", "oven", "s", "stove", "toaster")  # in the order in which descriptions name them

ROOM, ROOM_ADJECTIVE, ROOM_NOUN = "messy kitchen", "messy", "kitchen"
CUTS = ("uncut", "sliced", "diced", "chopped")
COOKINGS = ("uncooked", "fried", "roasted", "grilled")
HEATS = ("stove", "oven", "griller")  # what fries, roasts and grills

COOKBOOK, KNIFE = (THINGS.index(tool) for tool in TOOLS)
IS_FOOD, IS_CUTTABLE, IS_COOKABLE, MUST_BE_COOKED = (
    np.array([getattr(thing, field) for thing in THINGS])
    for field in ("is_food", "cuttable", "cookable", "must_be_cooked")
)
IS_CONTAINER = np.array([piece.is_container for piece in PIECES])
ORDER = np.array([KINDS.index(piece.kind) for piece in PIECES])


def _share(word: int) -> np.ndarray:
    """Which things, (things, things) bool, are two-word foods that share a word with another one."""
    words = [thing.words for thing in THINGS]
    same = np.array([[here[word] == there[word] for there in words] for here in words])
    two_words = np.array([adjective != NONE for adjective, _ in words])
    return same & two_words[:, None] & two_words & ~np.eye(len(words), dtype=bool)


SAME_ADJECTIVE, SAME_NOUN = _share(0), _share(1)  # whose distractors are whose
