"""How notes are taken of the answers of each world (paper, section 3.1): what is left out, what is cut."""

from dataclasses import dataclass
from typing import Any

from afk.agents.notebook import NoteTaking, Similarity
from afk.envs.core import Environment


@dataclass(frozen=True)
class NoteStyle:
    """What notes of a world's answers look like.

    Attributes:
        dropped: words that carry no meaning of their own; notes leave them out.
        unknown: words that only an answer without knowledge holds.
        breaks: tokens that end a clause, each of which is a note.
        clauses: how many clauses an answer has at most.
    """

    dropped: tuple[str, ...]
    unknown: tuple[str, ...]
    breaks: tuple[str, ...]
    clauses: int


NOTE_STYLES = {
    "qbabyai": NoteStyle(dropped=("is", "in"), unknown=("i dont know",), breaks=(",",), clauses=2),
    "qtextworld": NoteStyle(
        dropped=("the", "a", "some", "is", "are", "in", "on", "to", "be", "and", "needs", "you", "have"),
        unknown=("you won't find any", "cannot be cut nor cooked"),
        breaks=(".", ",", "!"),
        clauses=2,  # what a recipe wants, and what to use for it
    ),
}


def note_taking(env: Environment[Any], similarity: Similarity) -> NoteTaking:
    """How notes are taken in an environment."""
    if env.world not in NOTE_STYLES:
        raise ValueError(f"nothing says how notes are taken in {env.world}: add it to NOTE_STYLES")
    style = NOTE_STYLES[env.world]
    return NoteTaking(
        env.vocabulary,
        dropped=style.dropped,
        unknown=style.unknown,
        breaks=style.breaks,
        clauses=style.clauses,
        similarity=similarity,
        words=env.sentence_length,
    )
