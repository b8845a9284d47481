"""Fragments of room descriptions, expanded from the grammar that the `textworld` package brings along.

A description is an intro, a block for each piece of furniture, and what lies on the floor. A block keeps all
its branches (closed, empty, with a list) in one template, in Inform 7's notation, because a tag that occurs
twice in TextWorld's grammar is expanded to the same words in both places.
"""

import importlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from afk.envs.qtextworld.world.things import ROOM, ROOM_ADJECTIVE, ROOM_NOUN, Piece
from afk.envs.qtextworld.world.words import tokenise

Progress = Callable[[float], None]  # called from time to time with the share of the work that is done

LIST = "\N{WHITE SQUARE}"  # stands for something that is filled in, such as a list of things
_TAGS = ("#dec#", "#room_desc_(c)#", "#room_desc_(s)#")  # for intros, containers and supporters
_TAG = re.compile(r"#[^#]*#")
_CHOICE = re.compile(
    r"\[if ([^]]*)\]([^[]*)(?:\[else if ([^]]*)\]([^[]*))?(?:\[otherwise\]([^[]*))?\[end if\]",
)
_THINGS = re.compile(r"\[a list of things (?:in|on) the ([^]]*)\]")
_BLOCK_END = re.compile(
    r"(?:\[if [^]]* contains nothing\]|\[if there is nothing on the [^]]*\])[^[]*\[end if\]"
)


class Templates(NamedTuple):
    """Expanded texts in which names are still to be filled in.

    Attributes:
        intros: sentences about the room.
        containers: blocks for pieces that can be closed.
        supporters: blocks for the others.
        words: all words that the grammar can put into such texts, also those that were not drawn.
    """

    intros: tuple[str, ...]
    containers: tuple[str, ...]
    supporters: tuple[str, ...]
    words: tuple[str, ...]


class Block(NamedTuple):
    """What a description says about a piece, by its state.

    Attributes:
        closed: it is closed; nothing for a piece that cannot be.
        empty: it is open, and holds nothing.
        before: what comes before the list of the things it holds.
        after: what comes after that list.
    """

    closed: str
    empty: str
    before: str
    after: str


def textworld(module: str = "textworld") -> Any:
    """A module of the package, or a ValueError that says how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ValueError(
            "Q-TextWorld takes its text from the package textworld, which is not installed: "
            f"`pip install textworld` (it needs a C compiler), then `afk textworld prepare` ({error})"
        ) from error


def knowledge_base() -> Any:
    """The logic and the grammar of TextWorld's cooking game."""
    cooking = textworld("textworld.challenges.tw_cooking.cooking")
    data = textworld("textworld.generator.data")
    return data.KnowledgeBase.load(logic_path=cooking.KB_LOGIC_PATH, grammar_path=cooking.KB_GRAMMAR_PATH)


def expand_templates(count: int, *, seed: int, progress: Progress) -> Templates:
    """Draw so many of each kind from the grammar, as a game would."""
    options = textworld().GameOptions().grammar
    module = textworld("textworld.generator.text_grammar")
    grammar = module.Grammar(options, rng=np.random.RandomState(seed), kb=knowledge_base())
    drawn: list[tuple[str, ...]] = []
    for number, tag in enumerate(_TAGS):
        texts = []
        for done in range(count):
            texts.append(grammar.expand(tag))
            if done % 256 == 0:
                progress((number + done / count) / len(_TAGS))
        drawn.append(tuple(texts))
    return Templates(*drawn, words=_reachable_words(grammar))


def _reachable_words(grammar: Any) -> tuple[str, ...]:
    """The words of all that the tags can be expanded to, except those that are put together from parts."""
    tags, found = list(_TAGS), set()
    for tag in tags:
        for alternative in grammar.grammar[tag].alternatives:
            text = alternative.full_form()
            tags += [each for each in dict.fromkeys(_TAG.findall(text)) if each not in tags]
            chunks = re.sub(r"#[^#]*#|\[[^]]*\]|\([^)]*\)", LIST, text).split()
            found |= {word for chunk in chunks if LIST not in chunk for word in tokenise(chunk)}
    return tuple(sorted(found))


def fill_intro(template: str) -> str:
    """An intro about the kitchen."""
    return _fill(template, ROOM, ROOM_NOUN, ROOM_ADJECTIVE)


def fill_block(template: str, piece: Piece) -> Block:
    """A block about a piece of furniture."""
    text = _fill(f" {template}", piece.name, piece.name, piece.adjective)
    return split_block(text, is_container=piece.is_container)


def _fill(template: str, name: str, noun: str, adjective: str) -> str:
    filled = template.replace("(name)", name).replace("(name-n)", noun).replace("(name-adj)", adjective)
    # TextWorld mends articles in this way, also where the next word is far from a noun.
    return re.sub(r" ([aA]) (?=[aeiou])", r" \1n ", filled.replace("  ", " "))


def split_description(template: str) -> tuple[str, tuple[str, ...]]:
    """The intro and the blocks of the description of a game's room."""
    intro, _, rest = template.partition("\n\n")
    ends = [match.end() for match in _BLOCK_END.finditer(rest)]
    return intro, tuple(rest[start:end] for start, end in zip([0, *ends], ends, strict=False))


def split_block(template: str, *, is_container: bool) -> Block:
    """What a block says in each state; a ValueError if it is written in an unknown way."""

    def say(*, is_open: bool, holds: bool) -> str:
        def is_true(condition: str) -> bool:
            return is_met(condition, is_open=lambda piece: is_open, holds=lambda piece: holds)

        return render(template, is_true, lambda piece: LIST)

    closed, empty, filled = (
        say(is_open=False, holds=False),
        say(is_open=True, holds=False),
        say(is_open=True, holds=True),
    )
    before, *after = filled.split(LIST)
    if len(after) != 1 or LIST in closed + empty:
        raise ValueError(f"a block of TextWorld's grammar does not name its things once: {template!r}")
    return Block(closed if is_container else "", empty, before, after[0])


def is_met(condition: str, *, is_open: Callable[[str], bool], holds: Callable[[str], bool]) -> bool:
    """Whether a condition of a template is true, given what is true of each piece; nothing is ever locked."""
    forms: tuple[tuple[str, Callable[[str], bool]], ...] = (
        (r"(.*) is locked", lambda piece: False),
        (r"(.*) is open", is_open),
        (r"(.*) is open and there is something in the \1", lambda piece: is_open(piece) and holds(piece)),
        (r"(.*) is open and the \1 contains nothing", lambda piece: is_open(piece) and not holds(piece)),
        (r"there is something on the (.*)", holds),
        (r"there is nothing on the (.*)", lambda piece: not holds(piece)),
    )
    for form, is_true in forms:
        if match := re.fullmatch(form, condition):
            return is_true(match[1])
    raise ValueError(f"unknown condition in a text of TextWorld's grammar: {condition!r}")


def render(template: str, is_true: Callable[[str], bool], things: Callable[[str], str]) -> str:
    """The text of a template.

    Args:
        template: in Inform 7's notation.
        is_true: says whether a condition holds.
        things: gives the list of the things that a piece holds.
    """

    def choose(match: re.Match[str]) -> str:
        first, then, second, instead, otherwise = match.groups()
        if is_true(first):
            return then
        return instead if second is not None and is_true(second) else otherwise or ""

    text = _CHOICE.sub(choose, _THINGS.sub(lambda match: things(match[1]), template))
    if "[" in text:
        raise ValueError(f"a text of TextWorld's grammar is written in an unknown way: {template!r}")
    return text
