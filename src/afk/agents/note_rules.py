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
        breaks: tokens that end a clause; notes leave them out.
        refused: words that only a refusal holds, if `unknown` has none of them.
    """

    dropped: tuple[str, ...]
    unknown: tuple[str, ...]
    breaks: tuple[str, ...]
    refused: tuple[str, ...] = ()


NOTE_STYLES = {
    "qbabyai": NoteStyle(dropped=("is", "in"), unknown=("i dont",), breaks=(",",)),
    "qtextworld": NoteStyle(
        dropped=("the", "a", "some", "is", "are", "in", "on", "to", "be", "and", "needs", "you", "have"),
        unknown=("you won't find any", "cannot be cut nor cooked"),
        breaks=(".", ",", "!"),
        refused=("you cannot know",),
    ),
}


def note_taking(env: Environment[Any], similarity: Similarity, *, clauses: int) -> NoteTaking:
    """How notes are taken in an environment.

    Args:
        env: the environment.
        similarity: which notes are related.
        clauses: how many notes an answer makes at most: its first clauses, and the rest of it.
    """
    if env.world not in NOTE_STYLES:
        raise ValueError(f"nothing says how notes are taken in {env.world}: add it to NOTE_STYLES")
    style = NOTE_STYLES[env.world]
    # Of several sources an answer says whose it is: the name is worth a place in a note, "from" is not.
    signature = ("from",) if len(env.sources) > 1 else ()
    return NoteTaking(
        env.vocabulary,
        dropped=(*style.dropped, *signature),
        unknown=(*style.unknown, *(style.refused if env.sources else ())),
        breaks=style.breaks,
        clauses=clauses,
        similarity=similarity,
        words=env.sentence_length,
    )
