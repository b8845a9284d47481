"""Questions in words: which ``<func, adj, noun>`` a sentence asks for, if any.

A sentence is read clause by clause, so that what leads to the question does not matter, and a clause that names
nothing ("where is it?") is about what was named last. What is asked for is told by signs; other words may
stand beside them, but not everywhere: after "how", "which", a name and the like stands what would ask for
something else ("how heavy", "the kitchen table"), and there only words that ask for nothing are let pass.
The tables are in `afk.knowledge.question_forms`.
"""

import re

from afk.knowledge.question_forms import (
    COLOURS,
    ELSE,
    GRID,
    KITCHEN,
    OWNER,
    ROOMS,
    SYNONYMS,
    THINGS,
    Form,
    X,
)
from afk.knowledge.source import Facts, Words
from afk.language import NONE

_Name = tuple[str, str]  # adjective and noun
_ASKING = r"(?:where|wherever|which|what|who|whose|whom|how|why|when)"
_BEFORE_IT = r"(?:in|on|at|to|from|with|by|of|for|about|inside|under|until|into|through)"
_IS = r"(?:that|which|thats|who|is|are|the|one|colour|of|in|s|being|looks)"
_PLACE = r"(?:in|on|inside|into|onto|at|near|by|behind|under|beside|from|next to|close to|outside|before|opposite)"
_THE = r"(?:the|a|an|this|that|your|my|his|her|our|their|some|any)"


def read_question(text: str, facts: Facts) -> Words | None:
    """What a question asks for; None if it is not understood, and then nothing is guessed.

    Args:
        text: the question: ``where blue ball``, or ``where did Mary leave her blue ball?``.
        facts: whose words questions are made of.
    """
    return _read_plain(text.lower().split(), facts) or _read_sentence(text, facts)


def _read_plain(words: list[str], facts: Facts) -> Words | None:
    """Just the words of a query, the adjective perhaps left out."""
    if len(words) == 2:
        words = [words[0], NONE, words[1]]
    if len(words) != 3:
        return None
    function, adjective, noun = words
    known = function in facts.functions and adjective in facts.adjectives and noun in facts.nouns
    return (function, adjective, noun) if known else None


def _read_sentence(text: str, facts: Facts) -> Words | None:
    """The one thing that the clauses ask for: those that begin with a word that asks, if there are any, or else all together."""
    forms = KITCHEN if "how" in facts.functions else GRID
    line, names = _name(_normalise(text), facts)
    line = _split(_leave_places(line))
    if any(re.search(each, line) for each in ELSE):
        return None
    clauses = _say_what_is_meant([clause.strip() for clause in line.split("|") if clause.strip()])
    direct = [clause for clause in clauses if re.match(rf"(?:{_BEFORE_IT} )?{_ASKING}\b", clause)]
    for part in (direct or clauses, [" ".join(line.replace("|", " ").split())]):
        found = {query for clause in part if (query := _read_clause(clause, names, forms))}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _normalise(text: str) -> str:
    """A sentence in lower case with one word for what has many; a bar stands for marks that end a clause."""
    line = re.sub(r"n['`\u2019]t\b", " not", text.lower())
    line = re.sub(r"['`\u2019](s|re|m|d|ll|ve)?\b", " ", line)
    line = re.sub(r"(?<=\w)-(?=\w)", " ", line)
    line = re.sub(r"[.,;:?!()\u2013\u2014-]+", " | ", line)
    line = " ".join(re.findall(r"[a-z0-9]+|\|", line))
    for word, others in SYNONYMS.items():
        line = re.sub(rf"\b(?:{others})\b", word, line)
    return line


def _name(line: str, facts: Facts) -> tuple[str, list[_Name]]:
    """A sentence with ``X0``, ``X1`` for what is named in it, and the names."""
    is_grid = "how" not in facts.functions
    adjectives = COLOURS if is_grid else tuple(word for word in facts.adjectives if word != NONE)
    nouns = THINGS if is_grid else tuple(word for word in facts.nouns if word != NONE)
    colour, thing = "|".join(adjectives), rf"({'|'.join(nouns)})(?:e?s)?"
    names: list[_Name] = []

    def mark(name: _Name) -> str:
        if name not in names:
            names.append(name)
        return f"X{names.index(name)}"

    line = re.sub(rf"\b({colour}) (?:colour )?{thing}\b", lambda found: mark((found[1], found[2])), line)
    line = re.sub(
        rf"\b{thing} (?:\| )?(?:{_IS} )+({colour})\b(?: one\b)?(?! {_ASKING})",
        lambda found: mark((found[2], found[1])),
        line,
    )
    alone = ROOMS if is_grid else nouns
    plural = "(?:e?s)?"
    line = re.sub(rf"\b({'|'.join(alone)}){plural}\b", lambda found: mark((NONE, found[1])), line)
    return line, names


def _leave_places(line: str) -> str:
    """A sentence without the names of places that something else is in, or may be in."""
    line = re.sub(r"\b(which|what) X\d (?=.*X\d)", r"\1 container ", line)
    named = rf"(?:{_THE} )*X\d"
    line = re.sub(rf"\b{_PLACE} {named}(?: (?:\| )?(?:or|and) (?:{_PLACE} )?{named})*", "there", line)
    return re.sub(rf"{named} or {named}", "this or that", line)


def _split(line: str) -> str:
    """A sentence with a bar before each clause."""
    line = re.sub(rf"\b((?:{_BEFORE_IT} )?{_ASKING})\b", r"| \1", line)
    line = re.sub(r"\b(so|but|because|since|cause|cos|then)\b", r"| \1 |", line)
    line = re.sub(rf"({X}) (?=(?:that|i|we|you)\b)", r"\1 | ", line)
    return re.sub(r"\|(?: \|)+", "|", line).strip(" |")


def _say_what_is_meant(clauses: list[str]) -> list[str]:
    """The clauses, those that name nothing with what was named last before them, or else next."""
    meant: list[str] = []
    for at, clause in enumerate(clauses):
        before = re.findall(X, " ".join(clauses[:at]))
        after = re.findall(X, " ".join(clauses[at + 1 :]))
        is_lacking = not re.search(rf"{X}|{OWNER}", clause)
        topic = [*after[::-1], *before][-1:] if is_lacking else []
        for name in topic:
            told = re.sub(r"\b(?:it|them|(?:this|that) one)\b", name, clause, count=1)
            clause = told if told != clause else f"{clause} {name}"
        meant.append(clause)
    return meant


def _read_clause(clause: str, names: list[_Name], forms: tuple[Form, ...]) -> Words | None:
    """What a clause asks for."""
    named = {int(mark[1:]) for mark in re.findall(X, clause)}
    owners = set(re.findall(OWNER, clause))
    if len(named) > 1:
        return None
    name = names[named.pop()] if named else None
    for form in forms:
        if name and form.nouns is not None and name[1] not in form.nouns:
            continue
        if "OWNER" in form.query and len(owners) != 1:
            continue
        if form.fits(clause):
            said = form.query.replace("OWNER", " ".join(owners))
            function, adjective, noun = said.replace("NAME", " ".join(name or ())).split()
            return function, adjective, noun
    return None
