"""The agents of the paper, and one of ours, as data: what each is equipped with (sections 3 and 4)."""

from dataclasses import dataclass, replace
from difflib import get_close_matches

from afk.plugins import load_plugins


@dataclass(frozen=True)
class Variant:
    """What an agent is equipped with.

    Attributes:
        asks: whether it has query heads; it only acts otherwise.
        notebook: whether it reads A_0; it reads the instruction and the latest response otherwise.
        pointer: whether its query words are pointed to in what it reads; any word can be said otherwise.
        bonus: whether an answer that grows A_0 is rewarded.
        network: the network, see `afk.agents.build`; the rest is about ``plus`` alone, that of `PlusAgent`.
        word_embedded_cells: whether things are seen as the words that name them.
        cell_note_attention: whether cells attend to the notes.
        autoregressive_query: whether the words of a question are chosen one after the other, each given those
            before; apart otherwise.
    """

    asks: bool = True
    notebook: bool = True
    pointer: bool = True
    bonus: bool = True
    network: str = "published"
    word_embedded_cells: bool = False
    cell_note_attention: bool = False
    autoregressive_query: bool = False


_PLUS = Variant(network="plus", word_embedded_cells=True, cell_note_attention=True, autoregressive_query=True)
VARIANTS = {
    "afk": Variant(),
    "no-query": Variant(asks=False, notebook=False, pointer=False, bonus=False),
    "query": Variant(notebook=False, pointer=False, bonus=False),
    "afk-no-notebook": Variant(notebook=False),
    "afk-no-pointer": Variant(pointer=False),
    "afk-no-bonus": Variant(bonus=False),
    "afk-plus": _PLUS,
    "afk-plus-no-word-cells": replace(_PLUS, word_embedded_cells=False),
    "afk-plus-no-cell-attention": replace(_PLUS, cell_note_attention=False),
    "afk-plus-no-autoregression": replace(_PLUS, autoregressive_query=False),
    "afk-plus-no-bonus": replace(_PLUS, bonus=False),
}


def find_variant(name: str) -> Variant:
    """The variant of that name; a ValueError that names the nearest ones if there is none."""
    load_plugins()
    if name not in VARIANTS:
        near = get_close_matches(name, VARIANTS, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else f"it is one of {', '.join(VARIANTS)}"
        raise ValueError(f"unknown agent {name!r}; {hint}")
    return VARIANTS[name]


def register_agent(name: str, variant: Variant) -> None:
    """Make an agent of your own known by its name, for this process."""
    if name in VARIANTS and VARIANTS[name] != variant:
        raise ValueError(f"an agent named {name!r} is registered already")
    VARIANTS[name] = variant
