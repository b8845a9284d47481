"""The words of Q-TextWorld, and commands and questions as text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afk.envs.qtextworld.commands import read_command, write_command
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.world.things import FOODS, PIECES, THINGS
from afk.envs.qtextworld.world.words import (
    ADJECTIVES,
    ENTITIES,
    NOUNS,
    enumerate_names,
    functions,
    make_vocabulary,
    tokenise,
)

from .families import COOK

TAKE, CUT = paper_tasks()[0], paper_tasks()[2]


def test_there_are_as_many_words_and_foods_as_in_the_paper() -> None:
    assert (len(functions(cook=False)), len(ADJECTIVES), len(NOUNS)) == (7, 38, 45)
    assert len(FOODS) == 42
    assert sum(food.cuttable for food in FOODS) == 26
    assert sum(food.words[0] != "none" for food in FOODS) == 31
    assert [thing.name for thing in THINGS] == sorted(thing.name for thing in THINGS)


def test_every_name_stands_for_one_thing() -> None:
    numbers = ENTITIES[ENTITIES >= 0]
    assert sorted(numbers) == list(range(len(THINGS) + len(PIECES)))


def test_tokens_have_the_same_numbers_with_and_without_cooking() -> None:
    with_, without = (make_vocabulary({"gleam"}, cook=cook) for cook in (True, False))
    assert with_.tokens == without.tokens
    assert len(with_.functions), len(without.functions) == (10, 7)
    for words in (with_.nouns, with_.adjectives, with_.functions):
        first = with_.token(words[0])
        assert with_.tokens[first : first + len(words)] == words


def test_text_becomes_tokens_and_text_again() -> None:
    assert tokenise("You won't... It's a so-called oven!") == [
        *("you", "won't", "...", "it's", "a", "so-called", "oven", "!"),
    ]
    vocabulary = make_vocabulary(set(), cook=False)
    row = vocabulary.encode("You won't find any red apple in here.", 12)
    assert row.dtype == np.uint16
    assert vocabulary.decode(row) == "you won't find any red apple in here."
    with pytest.raises(ValueError, match="unknown word 'zebra'"):
        vocabulary.encode("a zebra", 4)
    with pytest.raises(ValueError, match="has 4 tokens, at most 2 fit"):
        vocabulary.encode("a red apple.", 2)


def test_names_are_enumerated_as_textworld_does() -> None:
    assert [enumerate_names(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        *("nothing", "a", "a, and b", "a, b, and c"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask Charlie where's the parsley?", "ask charlie where parsley"),
        ("Ask Charlie where is the hot pepper", "ask charlie where hot pepper"),
        ("ask charlie where parsley", "ask charlie where parsley"),
        ("ask Charlie how to cut the hot pepper", "ask charlie how hot pepper"),
        ("ask charlie how to cook a red apple?", "ask charlie how red apple"),
        ("ask Charlie how hot pepper?", "ask charlie how hot pepper"),
        ("take red apple from fridge", "take red apple"),
        ("slice the carrot with the knife", "slice carrot"),
        ("open   the FRIDGE.", "open fridge"),
    ],
)
def test_natural_forms_are_read(text: str, expected: str) -> None:
    assert write_command(CUT, read_command(CUT, text)) == expected


def test_cooking_is_written_in_two_ways() -> None:
    for text in ("roast red apple", "cook red apple with oven", "cook the red apple with the oven"):
        assert write_command(COOK, read_command(COOK, text)) == "roast red apple"
    with pytest.raises(ValueError, match="cannot read 'roast red apple'"):
        read_command(CUT, "roast red apple")


@pytest.mark.parametrize(
    "text", ["", "   ", "dance", "where parsley", "ask charlie take egg", "ask charlie", "take"]
)
def test_what_is_no_command_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="cannot read"):
        read_command(TAKE, text)


@pytest.mark.parametrize("text", ["take zebra", "take big red apple", "take red zebra"])
def test_what_is_no_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a name is a noun"):
        read_command(TAKE, text)


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(ValueError, match="a command is text, not int"):
        read_command(TAKE, 3)  # pyright: ignore[reportArgumentType]


@given(st.integers(0, 6), st.integers(0, 37), st.integers(0, 44))
def test_every_action_can_be_written_and_read(function: int, adjective: int, noun: int) -> None:
    action = np.array([function, adjective, noun])
    assert read_command(CUT, write_command(CUT, action)).tolist() == action.tolist()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ingredients": 0}, "ingredients is from 1 to 5, not 0"),
        ({"ingredients": 6}, "ingredients is from 1 to 5, not 6"),
        ({"furniture": 8}, "furniture is from 0 to 7, not 8"),
        ({"distractors": 40}, "distractors is from 0 to 39, not 40"),
        ({"max_steps": 2}, "max_steps is from 3 to 1000, not 2"),
        ({"ingredients": 5, "cut": True, "cook": True}, "max_steps is from 28 to 1000, not 20"),
    ],
)
def test_impossible_settings_are_refused(settings: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Task("mine", **settings)
