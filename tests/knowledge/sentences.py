"""Facts of an episode that tests ask sources about."""

from afk.knowledge.source import Fact, Facts

ROWS = (
    Fact(("what", "jack", "toy"), "jack toy is blue ball", 0),
    Fact(("where", "blue", "ball"), "blue ball in mary suitcase", 1),
    Fact(("what", "mary", "suitcase"), "different from tim, mary suitcase is green box", 2),
    Fact(("what", "*", "key"), "red key to the door", 3),
    Fact(("where", "red", "key"), "red key in room1", 4),
)
FACTS = Facts(
    ROWS,
    ("what", "where"),
    ("none", "blue", "green", "red", "jack", "mary"),
    ("toy", "ball", "suitcase", "key", "box"),
    lambda _: "i dont know",
    "i dont",
)
