"""Games of TextWorld's own making: its `GameMaker`, its cooking logic and grammar, the paper's settings.

`make_game` follows the steps of TextWorld's cooking challenge; `export_games` compiles what it made to the
states and texts of the tensor engine.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.levels.bank import Bank, make_bank
from afk.envs.qtextworld.levels.grammar import (
    Block,
    knowledge_base,
    split_block,
    split_description,
    textworld,
)
from afk.envs.qtextworld.levels.sampler import allowed_foods
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import DONE, NEVER, RAW, UNUSED, Game, State
from afk.envs.qtextworld.world.things import (
    COOKBOOK,
    COOKINGS,
    CUTS,
    FIVE_PIECES,
    KNIFE,
    MORE_PIECES,
    PIECES,
    ROOM,
    ROOM_ADJECTIVE,
    ROOM_NOUN,
    THINGS,
    Thing,
)

_NO_BLOCK = Block("", "", "", "")
_NUMBERS = {thing.name: number for number, thing in enumerate(THINGS)}


def make_game(task: Task, seed: int) -> Any:
    """A TextWorld game of the task; its metadata say what the recipe is."""
    return _Kitchen(task, seed).build()


class _Kitchen:
    """A game in the making."""

    def __init__(self, task: Task, seed: int) -> None:
        options = textworld().GameOptions()
        options.kb, options.seeds = _shared_knowledge(), seed
        self.task, self.rng = task, np.random.default_rng(seed)
        self.maker = textworld().GameMaker(options)
        self.room = self.maker.new_room(ROOM_NOUN)
        self.holders = [self.room]
        self.entities: dict[str, Any] = {}
        self.places: dict[str, Any] = {}
        self.allowed = [
            thing for thing, is_allowed in zip(THINGS, allowed_foods(task), strict=True) if is_allowed
        ]

    def build(self) -> Any:
        """The finished game."""
        more = self.rng.permutation(len(MORE_PIECES))[: self.task.furniture]
        for piece in (*FIVE_PIECES, *(MORE_PIECES[index] for index in more)):
            entity = self.maker.new(type=piece.kind, name=piece.name)
            entity.infos.adj, entity.infos.noun = piece.adjective, piece.name
            if piece.is_container:
                entity.add_property("closed")
            self.room.add(entity)
            self.holders.append(entity)
        self._place_tools()
        self.maker.set_player(self.room)

        shuffled = self.rng.permutation(len(self.allowed))[: self.task.ingredients]
        ingredients = sorted(self.allowed[index] for index in shuffled)
        for food in ingredients:
            self._place(food, self._anywhere())
        recipe = {food.name: self._draw_preparation(food) for food in ingredients}
        self._place_distractors(ingredients)
        for thing in (THINGS[_NUMBERS[name]] for name in self.places):
            if thing.is_food:
                self._prepare(thing, recipe.get(thing.name))
        self.maker.quests = [self._quest(recipe)]
        self.room.infos.adj, self.room.infos.noun, self.room.infos.name = ROOM_ADJECTIVE, ROOM_NOUN, ROOM
        game = self.maker.build()
        game.objective = " ".join(
            [words.MISSION[0], words.enumerate_names([food.name for food in ingredients]), words.MISSION[1]]
        )
        game.metadata["recipe"] = recipe
        return game

    def _anywhere(self) -> Any:
        return self.holders[self.rng.integers(len(self.holders))]

    def _place(self, thing: Thing, holder: Any) -> Any:
        entity = self.maker.new(type="f" if thing.is_food else "o", name=thing.name)
        entity.infos.adj, entity.infos.noun = "", thing.name
        holder.add(entity)
        self.entities[thing.name], self.places[thing.name] = entity, holder
        return entity

    def _place_tools(self) -> None:
        self._place(THINGS[COOKBOOK], self._anywhere())
        if self.task.cut or self.rng.random() < 0.5:
            is_held = self.task.cut and self.task.knife_held
            knife = self._place(THINGS[KNIFE], self.maker.inventory if is_held else self._anywhere())
            knife.add_property("sharp")

    def _place_distractors(self, ingredients: Sequence[Thing]) -> None:
        """Beside each ingredient a food with its first word and one with its last, then foods anywhere."""
        for food in ingredients:
            *first, last = food.name.split()
            holder = self.places[food.name]
            if first:
                others = [each for each in self.allowed if each != food]
                self._place_one([each for each in others if each.name.startswith(first[0])], holder)
                self._place_one([each for each in others if each.name.endswith(last)], holder)
        for _ in range(self.task.distractors):
            absent = [food for food in self.allowed if food.name not in self.places]
            self._place(absent[self.rng.integers(len(absent))], self._anywhere())

    def _place_one(self, candidates: Sequence[Thing], holder: Any) -> None:
        """Put the first of the shuffled candidates that lies nowhere else here, unless it is here already."""
        for index in self.rng.permutation(len(candidates)):
            place = self.places.get(candidates[index].name)
            if place is None:
                self._place(candidates[index], holder)
            if place is None or place is holder:
                return

    def _draw_preparation(self, food: Thing) -> tuple[int, int]:
        """How an ingredient is to be cut and cooked, as indices into `CUTS` and `COOKINGS`."""
        cuts = range(self.task.cut, len(CUTS)) if food.cuttable else range(1)
        cookings = range(food.must_be_cooked or self.task.cook, len(COOKINGS)) if food.cookable else range(1)
        choices = [(cut, cooking) for cooking in cookings for cut in cuts]
        return choices[self.rng.integers(len(choices))]

    def _prepare(self, food: Thing, recipe: tuple[int, int] | None) -> None:
        """Give a food its properties; what the player need not do to an ingredient is done already."""
        entity = self.entities[food.name]
        cut, cooking = recipe or (0, 0)
        is_cooked = recipe and not self.task.cook
        if cut and not self.task.cut:
            entity.add_property(CUTS[cut])
        elif food.cuttable:  # also an ingredient that is wanted whole: to cut it loses
            entity.add_property("uncut")
        needs_cooking = food.must_be_cooked and not is_cooked
        entity.add_property("inedible" if needs_cooking else "edible")
        if is_cooked:
            entity.add_property("cooked")
            if cooking:
                entity.add_property(COOKINGS[cooking])
        elif food.cookable:
            entity.add_property("needs_cooking" if needs_cooking else "raw")

    def _quest(self, recipe: dict[str, tuple[int, int]]) -> Any:
        """Hold everything, prepared as the recipe says; do not spoil anything."""
        module, fact = textworld("textworld.generator.game"), self.maker.new_fact
        ready, spoilt = [], []
        for name, (cut, cooking) in recipe.items():
            food = self.entities[name]
            wanted = {CUTS[cut], COOKINGS[cooking]}
            ready.append(fact("in", food, self.maker.inventory))
            ready += [fact(state, food) for state in (*CUTS[1:], *COOKINGS[1:]) if state in wanted]
            spoilt += [
                fact(state, food) for state in (*CUTS[1:], *COOKINGS[1:], "burned") if state not in wanted
            ]
        return module.Quest(
            win_events=[module.Event(conditions=ready)],
            fail_events=[module.Event(conditions={each}) for each in spoilt],
            reward=1,
        )


@lru_cache(maxsize=1)
def _shared_knowledge() -> Any:
    return knowledge_base()


def room_of(game: Any) -> str:
    """The id of a game's room."""
    return game.world.rooms[0].id


def number_of(game: Any, entity: str) -> int:
    """The number of the thing with that id."""
    return _NUMBERS[game.infos[entity].name]


def recipe_of(game: Any) -> dict[str, tuple[int, int]]:
    """How each ingredient is to be cut and cooked, by its name."""
    return game.metadata["recipe"]


def states_of(facts: Iterable[Any], name: str) -> tuple[int, int]:
    """How something is cut and cooked, as indices into `CUTS` and `COOKINGS`."""
    said = {fact.name for fact in facts if fact.names[0] == name}

    def which(states: Sequence[str]) -> int:
        return next((index for index, state in enumerate(states) if index and state in said), 0)

    return which(CUTS), which(COOKINGS)


def export_games(task: Task, games: Sequence[Any]) -> tuple[State, Bank]:
    """Compile games: their first states, with a leading axis, and a bank of their own texts."""
    intros, blocks, states = [], [[_NO_BLOCK] * len(games) for _ in PIECES], []
    names = [piece.name for piece in PIECES]
    for number, game in enumerate(games):
        intro, templates = split_description(game.infos[room_of(game)].desc)
        pieces = [names.index(_described(game, template)) for template in templates]
        intros.append(intro)
        for piece, template in zip(pieces, templates, strict=True):
            blocks[piece][number] = split_block(template, is_container=PIECES[piece].is_container)
        states.append(_export(task, game, number, pieces))
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states), make_bank(intros, blocks)


def _described(game: Any, template: str) -> str:
    """The name of the piece that a block is about."""
    (name,) = {info.name for entity, info in game.infos.items() if f" {entity}]" in template}
    return name


def _export(task: Task, game: Any, number: int, pieces: list[int]) -> State:
    """The first state of a game, whose texts have that number in the bank."""
    facts, recipe = list(game.world.state.facts), recipe_of(game)
    holders = {PIECES[piece].name: slot for slot, piece in enumerate(pieces)} | {ROOM: len(pieces)}
    slots = []
    for fact in facts:
        if fact.name in ("at", "in", "on") and fact.types[0] in ("f", "o"):
            holder = fact.names[1]
            place = len(pieces) + 1 if holder == "I" else holders[game.infos[holder].name]
            slots.append((number_of(game, fact.names[0]), fact.names[0], place))
    slots.sort()

    def column(values: Iterable[int | bool], blank: int = 0, dtype: Any = jnp.int8) -> jax.Array:
        filled = [*values]
        return jnp.array(filled + [blank] * (task.things - len(filled)), dtype)

    properties = [{fact.name for fact in facts if fact.names[0] == entity} for _, entity, _ in slots]
    wanted = [recipe.get(THINGS[thing].name) for thing, _, _ in slots]
    now = [states_of(facts, entity) for _, entity, _ in slots]
    heat = [
        RAW if each & {"raw", "needs_cooking"} else DONE if "cooked" in each else NEVER for each in properties
    ]
    return State(
        game=Game(
            things=column((thing for thing, _, _ in slots), UNUSED),
            is_ingredient=column((each is not None for each in wanted), dtype=bool),
            cut=column(each[0] if each else 0 for each in wanted),
            cooking=column(each[1] if each else 0 for each in wanted),
            pieces=jnp.array(pieces, jnp.int8),
            intro=jnp.int32(number),
            blocks=jnp.full(len(pieces), number, jnp.int32),
            prepares=jnp.bool_(task.prepares),
            finds_knife=jnp.bool_(task.finds_knife),
        ),
        place=column((place for _, _, place in slots), UNUSED),
        is_open=jnp.zeros(len(pieces), bool),
        cut=column(cut for cut, _ in now),
        cooking=column(cooking for _, cooking in now),
        heat=column(heat),
        asked=jnp.zeros((2, task.things), bool),
        step=jnp.int32(0),
        queries=jnp.int32(0),
    )
