"""Questions in words: which ``<func, adj, noun>`` a sentence asks for, if any.

A sentence is read clause by clause, so that what leads to a question does not matter, and a clause that names
nothing ("where is it?") is about what was named last. What is asked for is told by signs. Any words may stand
beside these, but not everywhere: what follows "how", a name and the like would ask for something else ("how
heavy", "the kitchen table"), and there only words may stand that ask for nothing. What is not understood is
not guessed: a wrong answer is worse than none. The tables are in `afk.knowledge.question_forms`.
"""

import re
from functools import partial
from itertools import chain

from afk.knowledge.question_forms import ELSE, GRID, KITCHEN, SLOTS, Form
from afk.knowledge.question_words import COLOURS, OWNER, ROOMS, SYNONYMS, THINGS, X
from afk.knowledge.source import Facts, Words
from afk.language import NONE

_Name = tuple[str, str]  # adjective and noun

_BEFORE = r"(?:in|on|at|to|from|with|by|of|for|about|inside|under|through)"
_ASKING = rf"(?:{_BEFORE} )?(?:where|which|what|who|whose|whom|how|why|when)\b"
_PLACE = r"(?:in|on|inside|into|onto|at|near|by|behind|under|beside|from|next to|close to|outside|opposite)"
_THE = r"(?:(?:the|a|an|this|that|your|my|his|her|our|their|some|any) )*"
_IS = r"(?:(?:\| )?(?:that|which|thats|who|is|are|the|one|colour|of|in|s|being|looks) )+"


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
    """What the clauses ask for, or those alone that ask directly; or else what the whole sentence does."""
    line, names = _name(_spell(text), facts)
    line, places = _leave_places(line)
    line = _split(line)
    if re.search(ELSE, line):
        return None
    read = partial(_read_clause, names=names, forms=KITCHEN if _is_kitchen(facts) else GRID)
    clauses = line.split(" | ")
    direct = [at for at, clause in enumerate(clauses) if re.match(_ASKING, clause)]
    asked = {
        read(clauses[at]) or read(_say_what_is_meant(clauses, at, places))
        for at in direct or range(len(clauses))
    }
    found = asked - {None} or {read(" ".join(clauses))}
    return found.pop() if len(found) == 1 else None  # of two questions at once none is answered


def _is_kitchen(facts: Facts) -> bool:
    """Whether it is Q-TextWorld that is asked about."""
    return "how" in facts.functions


def _spell(text: str) -> str:
    """A sentence in lower case, with one word for what has many, and bars for marks that end a clause."""
    line = re.sub(r"n['`\u2019]t\b", " not", text.lower())
    line = re.sub(r"['`\u2019](?:s|re|m|d|ll|ve)?\b", " ", line)
    line = re.sub(r"(?<=\w)-(?=\w)", " ", line)
    line = re.sub(r"[.,;:?!()\u2013\u2014-]+", " | ", line)
    line = " ".join(re.findall(r"[a-z0-9]+|\|", line))
    for word, others in SYNONYMS.items():
        line = re.sub(rf"\b(?:{others})\b", word, line)
    return line


def _name(line: str, facts: Facts) -> tuple[str, list[_Name]]:
    """A sentence with ``X0``, ``X1`` for what is named in it, and the names."""
    kitchen = _is_kitchen(facts)
    adjective = "|".join(word for word in facts.adjectives if word != NONE) if kitchen else "|".join(COLOURS)
    things = tuple(word for word in facts.nouns if word != NONE) if kitchen else THINGS
    thing, alone = ("|".join(words) for words in (things, things if kitchen else ROOMS))
    names: list[_Name] = []

    def mark(found: re.Match[str]) -> str:
        parts = found.groupdict()
        name = (parts.get("adjective", NONE), parts["noun"])
        if name not in names:
            names.append(name)
        return f"X{names.index(name)}"

    for pattern in (
        rf"(?P<adjective>{adjective}) (?:colour )?(?P<noun>{thing})(?:e?s)?",
        rf"(?P<noun>{thing})(?:e?s)? {_IS}(?P<adjective>{adjective})(?: one)?",
        rf"(?P<noun>{alone})(?:e?s)?",
    ):
        line = re.sub(rf"\b{pattern}\b", mark, line)
    return line, names


def _leave_places(line: str) -> tuple[str, list[str]]:
    """A sentence without what is named as a place of something else, or as a choice; and these places."""
    named = rf"{_THE}X\d"
    line = re.sub(r"\b(which|what) (?:one )?(?:of )?(?:the )?X\d (?=.*X\d)", r"\1 container ", line)
    places = rf"\b{_PLACE} {named}(?: (?:\| )?(?:or|and) (?:{_PLACE} )?{named})*"
    left = re.findall(X, " ".join(found[0] for found in re.finditer(places, line)))
    line = re.sub(places, "in there", line)
    one = rf"(?:{named}|the (?:{'|'.join(COLOURS)})(?: one)?)"
    return re.sub(rf"\b{one} or {one}\b", "one or other", line), left


def _split(line: str) -> str:
    """A sentence with a bar between clauses."""
    line = re.sub(rf"\b({_ASKING})", r"| \1", line)
    line = re.sub(r"\b(so|but|because|since|cause|cos|then)\b", r"| \1 |", line)
    line = re.sub(rf"({X}) (?=(?:that|i|we|you)\b)", r"\1 | ", line)
    return re.sub(r"\|(?: *\|)+", "|", line).strip(" |")


def _say_what_is_meant(clauses: list[str], at: int, places: list[str]) -> str:
    """A clause; if it has no name, with what was named last before, or else next, or else with a place."""
    clause = clauses[at]
    if re.search(rf"{X}|{OWNER}", clause):
        return clause
    before, after = (re.findall(X, " ".join(part)) for part in (clauses[:at], clauses[at + 1 :]))
    topics = [*reversed(before), *after, *(places if "it" in clause.split() else ())]
    if not topics:
        return clause
    told = re.sub(r"\b(?:it|them|(?:this|that) one)\b", topics[0], clause, count=1)
    return told if told != clause else f"{clause} {topics[0]}"


def _read_clause(clause: str, names: list[_Name], forms: tuple[Form, ...]) -> Words | None:
    """What a clause asks for."""
    named = {names[int(mark[1:])] for mark in re.findall(X, clause)}
    owners = set(re.findall(OWNER, clause))
    if len(named) > 1 or re.search(SLOTS, clause):
        return None
    for form in forms:
        if form.may_be_of({noun for _, noun in named}, owners) and form.fits(clause):
            query = form.query.replace("OWNER", "".join(owners)).replace("NAME", " ".join(chain(*named)))
            function, adjective, noun = query.split()
            return function, adjective, noun
    return None
