"""Steps of a game: what can be done, what the oracle says, what wins and what loses."""

from dataclasses import replace
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afk.envs.core import TimeStep
from afk.envs.qtextworld.commands import possible_commands, read_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.bank import Bank
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world.state import DONE, NEVER, RAW, UNUSED, Game, State
from afk.envs.qtextworld.world.things import COOKINGS, CUTS, IS_COOKABLE, PIECES, THINGS

CUT = Task("cut", ingredients=2, cut=True, knife_held=False)
COOK = Task("cook", cook=True)
SLOTS = ("fridge", "oven", "counter", "stove", "griller", "floor", "hands")
NAMES = [thing.name for thing in THINGS]


@lru_cache(maxsize=4)
def compiled(task: Task, bank: Bank) -> QTextWorld:
    env = QTextWorld(task, bank)
    env.step = jax.jit(env.step)
    return env


def kitchen(task: Task, recipe: dict[str, tuple[str, str]], places: dict[str, str]) -> State:
    """A game in which things lie where they are said to lie, and ingredients have this recipe."""
    slots = sorted((NAMES.index(name), SLOTS.index(place)) for name, place in places.items())
    blank = task.things - len(slots)
    things = jnp.array([thing for thing, _ in slots] + [UNUSED] * blank, jnp.int8)
    wanted = [recipe.get(THINGS[thing].name) for thing, _ in slots] + [None] * blank
    known = things >= 0
    game = Game(
        things=things,
        is_ingredient=jnp.array([each is not None for each in wanted]),
        cut=jnp.array([CUTS.index(each[0]) if each else 0 for each in wanted], jnp.int8),
        cooking=jnp.array([COOKINGS.index(each[1]) if each else 0 for each in wanted], jnp.int8),
        pieces=jnp.array([[piece.name for piece in PIECES].index(name) for name in SLOTS[:5]], jnp.int8),
        intro=jnp.int32(0),
        blocks=jnp.zeros(5, jnp.int32),
        prepares=jnp.bool_(task.prepares),
        finds_knife=jnp.bool_(task.finds_knife),
    )
    return State(
        game=game,
        place=jnp.array([place for _, place in slots] + [UNUSED] * blank, jnp.int8),
        is_open=jnp.zeros(5, bool),
        cut=jnp.zeros_like(things),
        cooking=jnp.zeros_like(things),
        heat=jnp.where(known & jnp.asarray(IS_COOKABLE)[things], RAW, NEVER).astype(jnp.int8),
        asked=jnp.zeros((2, task.things), bool),
        step=jnp.int32(0),
        queries=jnp.int32(0),
    )


@pytest.fixture
def salad() -> State:
    recipe = {"red apple": ("diced", "fried"), "carrot": ("sliced", "uncooked")}
    places = {"red apple": "fridge", "red onion": "fridge", "carrot": "counter", "knife": "floor"}
    return kitchen(CUT, recipe, places | {"cookbook": "stove"})


class Player:
    """Gives commands as text, and reads what comes back."""

    def __init__(self, env: QTextWorld, state: State) -> None:
        self.env, self.state = env, state

    def __call__(self, *commands: str) -> TimeStep:
        for command in commands:
            action = jnp.asarray(read_command(self.env.task, command))
            self.state, self.last = self.env.step(self.state, action)
        return self.last

    def text(self, command: str) -> str:
        return self.env.vocabulary.decode(self(command).observation.text)

    def answer(self, command: str) -> str:
        answer = self.env.vocabulary.decode(self(command).observation.response)
        assert self.env.vocabulary.decode(self.last.observation.text).startswith(answer)
        return answer


@pytest.fixture
def play(salad: State, bank: Bank) -> Player:
    return Player(compiled(CUT, bank), salad)


def test_where_things_are(play: Player) -> None:
    assert play.answer("ask Charlie where's the red apple?") == "the red apple is in the fridge."
    assert play.answer("ask Charlie where carrot") == "the carrot is on the counter."
    assert play.answer("ask Charlie where's the knife") == "the knife is in the messy kitchen."
    assert play.answer("ask Charlie where's the oven") == "the oven is in the messy kitchen."
    assert play.answer("ask Charlie where banana") == "you won't find any banana in here."
    assert play.answer("ask Charlie where red oven") == "you won't find any red oven in here."
    play("take carrot")
    assert play.answer("ask Charlie where's the carrot") == "you have the carrot on you."
    play("open fridge")
    assert play.answer("ask Charlie where red apple") == "the red apple is in the fridge."


def test_how_things_are_prepared(play: Player) -> None:
    fried = "the red apple needs to be diced and fried. use a knife to cut it. use stove to cook it."
    assert play.answer("ask Charlie how to cut the red apple") == fried
    assert play.answer("ask Charlie how carrot") == (
        "the carrot needs to be sliced and uncooked. use a knife to cut it."
    )
    untouched = "needs to be uncut and uncooked."
    for name in ("red onion", "knife", "fridge"):
        assert play.answer(f"ask Charlie how {name}") == f"the {name} {untouched}"
    for name in ("banana", "table", "red fridge"):
        assert play.answer(f"ask Charlie how {name}") == f"the {name} cannot be cut nor cooked."
    play("open fridge", "take red onion", "take knife", "chop red onion")
    assert play.answer("ask Charlie how red onion") == (
        "the red onion needs to be chopped and uncooked. use a knife to cut it."
    )


def test_good_queries_are_counted_once(play: Player) -> None:
    play("ask Charlie where red apple", "ask Charlie where red apple", "ask Charlie how carrot")
    play("ask Charlie where knife", "ask Charlie where red onion", "ask Charlie how fridge", "take carrot")
    stats = play.last.stats
    assert [int(each) for each in (stats.steps, stats.queries, stats.good, stats.wanted)] == [7, 6, 3, 5]


def test_queries_change_nothing_but_the_count(play: Player, salad: State) -> None:
    play("ask Charlie where red apple")
    rest = replace(play.state, asked=salad.asked, step=salad.step, queries=salad.queries)
    assert all(np.array_equal(*pair) for pair in zip(*map(jax.tree.leaves, (rest, salad)), strict=True))


def test_descriptions_follow_the_state(play: Player) -> None:
    text = play.text("take red apple")
    assert text.startswith("invalid command.")
    assert "a red apple" not in text
    assert text.endswith("there is a knife on the floor. you are carrying: nothing.")
    text = play.text("open fridge")
    assert text.startswith("opened.")
    assert "a red apple, and a red onion" in text
    assert play.text("open fridge").startswith("invalid command.")
    assert play.text("take red apple").startswith("taken.")
    assert play.text("take red apple").startswith("invalid command.")
    text = play.text("take knife")
    assert text.endswith("there is nothing on the floor. you are carrying: a knife, and a red apple.")
    text = play.text("dice red apple")
    assert text.startswith("diced.")
    assert text.endswith("you are carrying: a knife, and a diced red apple.")


def test_what_can_be_done_is_listed(play: Player) -> None:
    start = ("open fridge", "open griller", "open oven", "take carrot from counter")
    start += ("take cookbook from stove", "take knife")
    assert possible_commands(CUT, play.state) == start
    play("open fridge", "take carrot", "take knife")
    later = ("chop carrot with knife", "dice carrot with knife", "open griller", "open oven")
    later += ("slice carrot with knife", "take cookbook from stove")
    assert possible_commands(CUT, play.state) == (
        *later,
        "take red apple from fridge",
        "take red onion from fridge",
    )


@pytest.mark.parametrize(
    "command",
    [
        "open counter",
        "take oven",
        "take none",
        "dice carrot",
        "take red carrot",
        "open oil",
        "slice knife",
        "take apple",
    ],
)
def test_what_cannot_be_done_changes_nothing(play: Player, salad: State, command: str) -> None:
    assert play.text(command).startswith("invalid command.")
    rest = replace(play.state, step=salad.step)
    assert all(np.array_equal(*pair) for pair in zip(*map(jax.tree.leaves, (rest, salad)), strict=True))


def test_cutting_needs_the_knife_and_happens_once(play: Player) -> None:
    play("open fridge", "take red onion")
    assert play.text("slice red onion").startswith("invalid command.")
    play("take knife")
    assert play.text("slice red onion").startswith("sliced.")
    assert play.text("dice red onion").startswith("invalid command.")
    assert not play.last.terminated


def test_the_wrong_cut_loses(play: Player) -> None:
    step = play("take knife", "take carrot", "dice carrot")
    assert bool(step.terminated)
    assert not bool(step.success)
    assert float(step.reward) == 0


def test_what_is_wanted_whole_can_be_cut_and_that_loses(bank: Bank) -> None:
    task = Task("take", ingredients=2)
    recipe = {"carrot": ("uncut", "uncooked"), "egg": ("uncut", "fried")}
    state = kitchen(task, recipe, {"carrot": "counter", "egg": "oven", "knife": "floor", "cookbook": "stove"})
    play = Player(compiled(task, bank), state)
    play("take carrot")
    assert play.text("chop carrot").startswith("invalid command.")
    play("take knife")
    assert "chop carrot with knife" in possible_commands(task, play.state)
    assert play.text("chop carrot").startswith("chopped.")
    assert bool(play.last.terminated)
    assert not bool(play.last.success)
    play.state = state
    play("take knife", "open oven", "take egg")
    assert play.text("chop egg").startswith("invalid command.")
    assert not bool(play.last.terminated)


def test_holding_everything_prepared_wins(salad: State, bank: Bank) -> None:
    game = replace(salad.game, cooking=jnp.zeros_like(salad.game.cooking))
    play = Player(compiled(CUT, bank), replace(salad, game=game))
    play("take knife", "take carrot", "slice carrot", "open fridge", "take red apple")
    assert not bool(play.last.terminated)
    step = play("dice red apple")
    assert bool(step.success)
    assert float(step.reward) == 1


def test_steps_run_out(play: Player) -> None:
    for number in range(CUT.max_steps):
        assert not bool(play("ask Charlie where egg").terminated)
        assert bool(play.last.truncated) == (number == CUT.max_steps - 1)


@pytest.mark.parametrize(("verb", "wins"), [("fry", False), ("roast", True), ("grill", False)])
def test_heat_has_to_be_the_right_one(bank: Bank, verb: str, wins: bool) -> None:
    state = kitchen(COOK, {"egg": ("uncut", "roasted")}, {"egg": "floor", "cookbook": "stove"})
    play = Player(compiled(COOK, bank), state)
    assert play.answer("ask Charlie how to cook the egg") == (
        "the egg needs to be uncut and roasted. use oven to cook it."
    )
    assert play.text(f"{verb} egg").startswith("invalid command.")
    play("take egg")
    assert play.text(f"{verb} egg").startswith("cooked.")
    assert bool(play.last.success) == wins
    assert bool(play.last.terminated)


def test_what_is_cooked_twice_burns(bank: Bank) -> None:
    places = {"egg": "floor", "pork meat": "floor", "cookbook": "stove"}
    play = Player(compiled(COOK, bank), kitchen(COOK, {"egg": ("uncut", "roasted")}, places))
    play("take pork meat")
    for feedback in ("cooked.", "cooked.", "invalid command."):
        assert play.text("fry pork meat").startswith(feedback)
    assert play.text("take egg").endswith("you are carrying: an egg, and a fried pork meat.")
    assert not bool(play.last.terminated)
    cooked = jnp.where(play.state.game.is_ingredient, DONE, play.state.heat).astype(jnp.int8)
    play.state = replace(play.state, heat=cooked)
    assert bool(play("roast egg").terminated)
    assert not bool(play.last.success)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 37), st.integers(0, 44)), max_size=12),
    st.integers(0, 99),
)
def test_whatever_is_said(bank: Bank, commands: list[tuple[int, int, int]], seed: int) -> None:
    """Things are where they were or in the player's hands, and text is text whatever is commanded."""
    env = compiled(CUT, bank)
    state, _ = env.draw(jax.random.key(seed))
    for number, command in enumerate(commands, 1):
        before = state
        state, step = env.step(state, jnp.array(command))
        moved = np.asarray(state.place != before.place)
        assert moved.sum() <= 1
        assert (np.asarray(state.place)[moved] == CUT.pieces + 1).all()
        assert np.asarray(state.is_open & ~before.is_open).sum() <= 1
        text = np.asarray(step.observation.text)
        length = int((text != 0).sum())
        assert text[:length].all()
        assert env.vocabulary.tokens[text[length - 1]] == "."
        assert bool(step.observation.response.any()) == (command[0] >= 5)
        assert int(step.stats.steps) == number
