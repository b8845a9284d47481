"""Draws games as TextWorld's cooking challenge does with the paper's settings, on the device and in bulk."""

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world.state import DONE, NEVER, RAW, UNUSED, Game, State
from afk.envs.qtextworld.world.things import (
    COOKBOOK,
    COOKINGS,
    CUTS,
    FIVE_PIECES,
    IS_COOKABLE,
    IS_CUTTABLE,
    IS_FOOD,
    KNIFE,
    MORE_PIECES,
    MUST_BE_COOKED,
    ORDER,
    SAME_ADJECTIVE,
    SAME_NOUN,
    THINGS,
)


def draw_game(task: Task, variants: int, key: jax.Array) -> State:
    """The first state of a game.

    Args:
        task: what the game is like.
        variants: how many texts the bank has for the room and for each piece.
        key: a random key.
    """
    food_key, place_key, recipe_key, distractor_key, tool_key, piece_key, text_key = jax.random.split(key, 7)
    allowed = jnp.asarray(allowed_foods(task))
    holders = task.pieces + 1
    ingredients = jnp.sort(_draw_distinct(food_key, allowed, task.ingredients))
    places = jax.random.randint(place_key, (task.ingredients,), 0, holders, jnp.int8)
    where = jnp.full(len(THINGS), UNUSED, jnp.int8).at[ingredients].set(places)
    is_ingredient = jnp.zeros(len(THINGS), bool).at[ingredients].set(True)
    where = _add_distractors(task, where, ingredients, allowed, holders, distractor_key)
    where = _add_tools(task, where, holders, tool_key)

    cut, cooking = _draw_recipe(task, recipe_key)
    cut_before = jnp.zeros_like(cut) if task.cut else jnp.where(is_ingredient, cut, 0)
    cooking_before = jnp.zeros_like(cooking) if task.cook else jnp.where(is_ingredient, cooking, 0)
    heat = jnp.where(IS_COOKABLE, RAW, NEVER)
    heat = heat if task.cook else jnp.where(is_ingredient, DONE, heat)

    slots = jnp.sort(jnp.where(where == UNUSED, len(THINGS), jnp.arange(len(THINGS))))[: task.things]
    used = slots < len(THINGS)

    def pick(values: jax.Array, blank: int = 0) -> jax.Array:
        return jnp.where(used, values[slots], jnp.asarray(blank, values.dtype))

    intro_key, block_key = jax.random.split(text_key)
    game = Game(
        things=jnp.where(used, slots, UNUSED).astype(jnp.int8),
        is_ingredient=pick(is_ingredient),
        cut=pick(jnp.where(is_ingredient, cut, 0)),
        cooking=pick(jnp.where(is_ingredient, cooking, 0)),
        pieces=_draw_pieces(task, piece_key),
        intro=jax.random.randint(intro_key, (), 0, variants),
        blocks=jax.random.randint(block_key, (task.pieces,), 0, variants),
        prepares=jnp.bool_(task.prepares),
        finds_knife=jnp.bool_(task.finds_knife),
    )
    return State(
        game=game,
        place=pick(where, UNUSED),
        is_open=jnp.zeros(task.pieces, bool),
        cut=pick(cut_before),
        cooking=pick(cooking_before),
        heat=pick(heat.astype(jnp.int8)),
        asked=jnp.zeros((2, task.things), bool),
        step=jnp.int32(0),
        queries=jnp.int32(0),
    )


def allowed_foods(task: Task) -> np.ndarray:
    """Which things, (things,) bool, can be ingredients and distractors: those that the task can prepare."""
    return IS_FOOD & (IS_CUTTABLE | (not task.cut)) & (IS_COOKABLE | (not task.cook))


def _draw_distinct(key: jax.Array, allowed: jax.Array, count: int) -> jax.Array:
    """Numbers of so many different things, out of those that are allowed: (count,) int32."""
    return jax.lax.top_k(jnp.where(allowed, jax.random.uniform(key, allowed.shape), -1.0), count)[1]


def _draw_recipe(task: Task, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """How each thing would be cut and cooked, uniformly over what suits it: two times (things,) int8."""
    cut_key, cooking_key = jax.random.split(key)
    cut = jax.random.randint(cut_key, (len(THINGS),), int(task.cut), len(CUTS), jnp.int8)
    least = jnp.asarray(MUST_BE_COOKED | task.cook).astype(jnp.int8)
    cooking = jax.random.randint(cooking_key, (len(THINGS),), least, len(COOKINGS), jnp.int8)
    return jnp.where(IS_CUTTABLE, cut, 0), jnp.where(IS_COOKABLE, cooking, 0)


def _add_distractors(
    task: Task, where: jax.Array, ingredients: jax.Array, allowed: jax.Array, holders: int, key: jax.Array
) -> jax.Array:
    """Put foods that share a word beside each ingredient, then other foods anywhere."""
    *keys, food_key, place_key = jax.random.split(key, 2 * task.ingredients + 2)
    for number, each in enumerate(keys):
        ingredient = ingredients[number // 2]
        here = where[ingredient]
        shares = jnp.asarray((SAME_ADJECTIVE, SAME_NOUN)[number % 2])[ingredient]
        # A food that lies elsewhere cannot be it; one that lies here already makes another one superfluous.
        candidates = shares & allowed & ((where == UNUSED) | (where == here))
        (chosen,) = _draw_distinct(each, candidates, 1)
        is_new = candidates[chosen] & (where[chosen] == UNUSED)
        where = where.at[chosen].set(jnp.where(is_new, here, where[chosen]))
    if task.distractors:
        foods = _draw_distinct(food_key, allowed & (where == UNUSED), task.distractors)
        where = where.at[foods].set(jax.random.randint(place_key, (task.distractors,), 0, holders, jnp.int8))
    return where


def _add_tools(task: Task, where: jax.Array, holders: int, key: jax.Array) -> jax.Array:
    """Put the cookbook somewhere, and the knife: in every second game, or where the task wants it."""
    place_key, knife_key = jax.random.split(key)
    cookbook, knife = jax.random.randint(place_key, (2,), 0, holders, jnp.int8)
    if task.cut:
        knife = jnp.int8(task.pieces + 1) if task.knife_held else knife
    else:
        knife = jnp.where(jax.random.bernoulli(knife_key), knife, UNUSED)
    return where.at[COOKBOOK].set(cookbook).at[KNIFE].set(knife.astype(jnp.int8))


def _draw_pieces(task: Task, key: jax.Array) -> jax.Array:
    """The furniture in the order of the description: (pieces,) int8."""
    more = jax.random.permutation(key, len(MORE_PIECES))[: task.furniture] + len(FIVE_PIECES)
    pieces = jnp.concatenate([jnp.arange(len(FIVE_PIECES)), more])
    return pieces[jnp.argsort(jnp.asarray(ORDER)[pieces], stable=True)].astype(jnp.int8)
