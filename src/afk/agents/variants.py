"""The agents of the paper, and one of ours, as data: what each is equipped with (sections 3 and 4)."""

from dataclasses import dataclass, replace
from difflib import get_close_matches


@dataclass(frozen=True)
class Variant:
    """What an agent is equipped with.

    Attributes:
        asks: whether it has query heads; it only acts otherwise.
        notebook: whether it reads A_0; it reads the instruction and the latest response otherwise.
        pointer: whether its query words are pointed to in what it reads; any word can be said otherwise.
        bonus: whether an answer that grows A_0 is rewarded.
        plus: whether it has the network of `PlusAgent` in Q-BabyAI; the rest is about that network alone.
        names: whether things are seen as the words that name them.
        meeting: whether cells attend to the notes.
        turns: whether the words of a question are chosen in turn, each given those before; apart otherwise.
    """

    asks: bool = True
    notebook: bool = True
    pointer: bool = True
    bonus: bool = True
    plus: bool = False
    names: bool = False
    meeting: bool = False
    turns: bool = False


_PLUS = Variant(plus=True, names=True, meeting=True, turns=True)
VARIANTS = {
    "afk": Variant(),
    "no-query": Variant(asks=False, notebook=False, pointer=False, bonus=False),
    "query": Variant(notebook=False, pointer=False, bonus=False),
    "afk-no-notebook": Variant(notebook=False),
    "afk-no-pointer": Variant(pointer=False),
    "afk-no-bonus": Variant(bonus=False),
    "afk-plus": _PLUS,
    "afk-plus-no-names": replace(_PLUS, names=False),
    "afk-plus-no-meeting": replace(_PLUS, meeting=False),
    "afk-plus-no-turns": replace(_PLUS, turns=False),
    "afk-plus-no-bonus": replace(_PLUS, bonus=False),
}


def find_variant(name: str) -> Variant:
    """The variant of that name; a ValueError that names the nearest ones if there is none."""
    if name not in VARIANTS:
        near = get_close_matches(name, VARIANTS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(VARIANTS)}"
        raise ValueError(f"unknown agent {name!r}; {hint}")
    return VARIANTS[name]
