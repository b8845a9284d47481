"""The language of Q-BabyAI: 62 words and the function words *what* and *where* (paper, table 7)."""

import numpy as np

from afk.envs.qbabyai.world.cells import COLOURS
from afk.language import Vocabulary

VOCABULARY = Vocabulary(
    nouns=(
        *("toy", *(f"room{number}" for number in range(10)), "ball", "box", "key", "i", "suitcase"),
        *("livingroom", "kitchen", "restroom", "floor", "bedroom", "zone", "square", "door"),
    ),
    adjectives=(
        *("none", "blue", "green", "grey", "gray", "yellow", "red", "white", "jack", "tim", "mary"),
        *("east", "west", "second", "orange", "small", "big", "allen", "tom", "purple", "pink", "danger"),
    ),
    functions=("what", "where"),
    verbs=("go", "dont", "know", "find", "avoid", "open"),
    others=("to", "the", "a", "while", "which", "in", "limit", "different", "from", "and"),
    glue=(",", "is"),
)
WHERE = VOCABULARY.functions.index("where")
MISSION_LENGTH = 20  # tokens of an instruction
RESPONSE_LENGTH = 12  # tokens of an answer
ROOM_WORD = 3  # where "COLOUR KIND in roomK" names the room
UNKNOWN = VOCABULARY.encode("i dont know", RESPONSE_LENGTH)
REFUSAL = VOCABULARY.encode("i dont", RESPONSE_LENGTH)  # who says no more does not want to
SILENCE = np.zeros_like(UNKNOWN)  # the response of a step that asked nothing
# Sources are called by words that the vocabulary has and the paper's tasks do not use.
SOURCE_NAMES = ("allen", "tom", "pink", "white", "orange", "big", "small", "second")
SOURCE_TOKENS = np.array([VOCABULARY.token(name) for name in SOURCE_NAMES], np.uint8)
FROM = VOCABULARY.token("from")
SIGNED_LENGTH = RESPONSE_LENGTH + 2  # tokens of an answer that says whose it is

NAMES = ("jack", "mary")
PLACES = ("kitchen", "restroom", "livingroom")
MAX_ROOMS = 10  # as many as have a word

# Words as indices into their class, by colour code, name and room.
COLOUR_ADJECTIVES = np.array([VOCABULARY.adjectives.index(colour) for colour in COLOURS], np.int8)
NAME_ADJECTIVES = np.array([VOCABULARY.adjectives.index(name) for name in NAMES], np.int8)
ROOM_NOUNS = np.array([VOCABULARY.nouns.index(f"room{number}") for number in range(MAX_ROOMS)], np.int8)
ROOM_TOKENS = np.array([VOCABULARY.token(f"room{number}") for number in range(MAX_ROOMS)], np.uint8)
