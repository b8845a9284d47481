"""Questions in words: which ``<func, adj, noun>`` a sentence asks for, if any."""

from afk.knowledge.source import Facts, Words
from afk.language import NONE


def read_question(text: str, facts: Facts) -> Words | None:
    """What a question asks for; None if it is not understood, and then nothing is guessed.

    Args:
        text: the question, such as ``where blue ball``.
        facts: whose words questions are made of.
    """
    words = text.lower().split()
    if len(words) == 2:
        words.insert(1, NONE)
    if len(words) != 3:
        return None
    function, adjective, noun = words
    known = function in facts.functions and adjective in facts.adjectives and noun in facts.nouns
    return (function, adjective, noun) if known else None
