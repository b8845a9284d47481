"""Questions in words: which ``<func, adj, noun>`` a sentence asks for, if any.

The grammar is a table of forms. A form names what it is about, a word or two that tell it from others, and
the words that may stand beside them. A sentence with any other word asks for something else, and is not
understood: a near miss would be answered as if it were meant, which is worse than no answer.
"""

import re
from dataclasses import dataclass

from afk.knowledge.source import Facts, Words
from afk.language import NONE


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# What sentences are said with, whatever they ask for.
_FILLERS = _words(
    "a about again all am an and any are around at be can cannot cant could did do does excuse for get "
    "give had has have here hey hi i id idea if im in inform into is it just know let look me need now "
    "of ok okay on one ones or our out please pls question remind s seem seems should show so some somebody "
    "someone tell that thats the their them then there these they thing things this those to us want "
    "was we well were what whats which who whose will with would you your"
)
_SYNONYMS = {
    "bathroom": "restroom",
    "toilet": "restroom",
    "loo": "restroom",
    "lounge": "livingroom",
    "favorite": "favourite",
    "color": "colour",
    "colours": "colour",
    "colors": "colour",
    "keys": "key",
    "boxes": "box",
    "tiles": "tile",
    "zones": "zone",
    "wheres": "where",
}
_PHRASES = {
    "living room": "livingroom",
    "stay away": "avoid",
    "keep away": "avoid",
    "danger zones": "danger zone",
}
_WHERE_SIGNS = _words(
    "where location located locate find found whereabouts whereabout room place position way direction "
    "lie lies lying looking search searching seek seen put keep kept hide hidden hid gone contains "
    "holds inside point who whose which stored in has go have get"
)
_PLACES = _words(
    "suitcase container contain hold placed leave left drop dropped somewhere might how her his him she "
    "he world identify see going east west take took bring being by lost must say go"
)
_TOYS = _words(
    "toy favourite look like likes liked love loves play plays belong belongs own owns object item kind "
    "sort describe identify ball box key prefer prefers best most really has thing"
)
_SUITCASES = _words(
    "suitcase box look looks like colour belong belongs own owns describe recognise recognize find "
    "inside kind sort how identify thing contents hold holds contain contains"
)
_DANGERS = _words(
    "danger dangerous zone tile floor colour avoid deadly kill kills step stepping walk safe lethal "
    "must stay from away where look looks not dont never blue yellow red green purple grey gray touch "
    "harmful unsafe identify describe"
)
_KEYS = _words(
    "key open opens unlock unlocks lock locked door fit fits right correct match matches belong belongs "
    "use take colour how goes go pick choose proper identify must works work"
)
_RECIPES = _words(
    "how prepare prepared cut cook cooked cooking sliced diced chopped fried roasted grilled slice dice "
    "chop fry roast grill recipe says say way like want must done make made needs instructions "
    "instruction ready preparation treat handle"
)
_COLOURS = ("blue", "green", "grey", "gray", "yellow", "red", "purple")
_OWNERS = ("jack", "mary")
_ROOMS = ("kitchen", "restroom", "livingroom")
_THINGS = ("ball", "box", "key", "door", "square")


@dataclass(frozen=True)
class _Form:
    """A way to ask.

    Attributes:
        signs: words of which at least one must be there; none has to if there are none.
        others: words that may stand beside them.
    """

    signs: frozenset[str]
    others: frozenset[str]

    def fits(self, words: list[str], names: set[str]) -> bool:
        """Whether a sentence is of this form, its names aside."""
        known = _FILLERS | self.signs | self.others | names
        return known.issuperset(words) and (not self.signs or not self.signs.isdisjoint(words))


_WHERE = _Form(_WHERE_SIGNS, _PLACES)
_HOW = _Form(_RECIPES - {"say", "says", "way", "like", "want", "must", "make", "made", "needs"}, _RECIPES)
_NEEDS = _Form(frozenset({"do", "done", "needs"}), _RECIPES | {"what"})
_TOY = _Form(frozenset({"toy", "favourite", "like", "likes", "play", "plays", "love", "loves"}), _TOYS)
_SUITCASE = _Form(frozenset({"suitcase"}), _SUITCASES)
_DANGER = _Form(
    frozenset({"danger", "dangerous", "deadly", "avoid", "kill", "kills", "step", "safe", "lethal", "walk"}),
    _DANGERS,
)
_KEY = _Form(frozenset({"key", "lock", "locked", "open", "opens", "unlock", "unlocks"}), _KEYS)


def read_question(text: str, facts: Facts) -> Words | None:
    """What a question asks for; None if it is not understood, and then nothing is guessed.

    Args:
        text: the question: ``where blue ball``, or ``where did Mary leave her blue ball?``.
        facts: whose words questions are made of.
    """
    if plain := _read_plain(text.lower().split(), facts):
        return plain
    words = _split(text)
    return _read_plain(words, facts) or (
        _read_kitchen(words, facts) if "how" in facts.functions else _read_grid(words)
    )


def _split(text: str) -> list[str]:
    """The words of a sentence in lower case, without marks, possessives and the like."""
    line = re.sub(r"['`\u2019](s|re|m|d|ll|ve)\b", r" ", text.lower())
    line = re.sub(r"\b(can ?not|can['\u2019]?t) (find|see)\b", "find", line)
    line = re.sub(r"n['\u2019]t\b", " not", line)
    line = " ".join(re.findall(r"[a-z0-9]+", line))
    for phrase, word in _PHRASES.items():
        line = re.sub(rf"\b{phrase}\b", word, line)
    words = [_SYNONYMS.get(word, word) for word in line.split()]
    return [_without_s(word) for word in words]


def _without_s(word: str) -> str:
    """An owner's name without an s that lost its apostrophe."""
    return word[:-1] if word[:-1] in _OWNERS and word.endswith("s") else word


def _read_plain(words: list[str], facts: Facts) -> Words | None:
    """Just the words of a query, the adjective perhaps left out."""
    if len(words) == 2:
        words = [words[0], NONE, words[1]]
    if len(words) != 3:
        return None
    function, adjective, noun = words
    known = function in facts.functions and adjective in facts.adjectives and noun in facts.nouns
    return (function, adjective, noun) if known else None


def _read_grid(words: list[str]) -> Words | None:
    """A question of Q-BabyAI: somebody's toy or suitcase, the danger, the key, or where something is."""
    owners = [name for name in _OWNERS if name in words]
    colours = [colour for colour in _COLOURS if colour in words]
    things = [thing for thing in _THINGS if thing in words]
    places = [place for place in _ROOMS if place in words]
    names = {*owners, *colours, *things, *places}
    if len(owners) > 1 or _repeats(words, names):
        return None
    if _DANGER.fits(words, set()) and not things and not owners:
        return ("what", "danger", "zone")
    if len(colours) == 1 and len(things) == 1:
        return ("where", colours[0], things[0]) if _WHERE.fits(words, names) else None
    if colours:
        return None
    if len(places) == 1 and not owners and not things:
        return ("where", NONE, places[0]) if _WHERE.fits(words, names) else None
    if owners and "suitcase" in words:
        return ("what", owners[0], "suitcase") if _SUITCASE.fits(words, names) else None
    if owners:
        return ("what", owners[0], "toy") if _TOY.fits(words, names) else None
    if {"key", "door", "lock"} & set(words) and {*things} <= {"key", "door"} and _asks_which(words):
        return ("what", NONE, "key") if _KEY.fits(words, names) else None
    return None


def _repeats(words: list[str], names: set[str]) -> int:
    """How many names are said more than once: of two questions at once none is answered."""
    return sum(words.count(name) > 1 for name in names)


def _asks_which(words: list[str]) -> bool:
    """Whether a sentence about a lock asks what opens it, and not, say, whether it is open."""
    return bool({"what", "which", "how", "right", "correct"} & set(words))


def _read_kitchen(words: list[str], facts: Facts) -> Words | None:
    """A question of Q-TextWorld: where something is, or how it is prepared."""
    found = _names(words, facts)
    if len(found) == 2 and "in" in words[found[0][0] : found[1][0]]:  # is it there? where it is answers that
        found = found[:1]
        words = [*words[: words.index("in", found[0][0])], "where"]
    if len(found) != 1:
        return None
    at, (adjective, noun) = found[0]
    size = 1 + (adjective != NONE)
    rest = words[:at] + words[at + size :]
    if {"do", "done"} & {*rest} and "with" in rest and _NEEDS.fits(rest, set()):
        return ("how", adjective, noun)
    if "how" not in rest and _WHERE.fits(rest, set()) and not _HOW.signs & set(rest):
        return ("where", adjective, noun)
    if _HOW.fits(rest, set()) or _NEEDS.fits(rest, set()):
        return ("how", adjective, noun)
    return None


def _names(words: list[str], facts: Facts) -> list[tuple[int, tuple[str, str]]]:
    """Where things are named, and their adjectives and nouns."""
    found: list[tuple[int, tuple[str, str]]] = []
    for at, word in enumerate(words):
        if word not in facts.nouns or word == NONE:
            continue
        has_adjective = at > 0 and words[at - 1] in facts.adjectives and words[at - 1] != NONE
        found.append((at - has_adjective, (words[at - 1] if has_adjective else NONE, word)))
    return found
