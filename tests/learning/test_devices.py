"""A function for each of several: together or in turn, the results are the same."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.learning.devices import side_by_side


def choose(tree: dict[str, jax.Array], shift: jax.Array) -> dict[str, Any]:
    """Something with a choice in it."""
    x = tree["x"] + shift
    return {"chosen": jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), "least": x.min()}


def several(count: int) -> tuple[dict[str, jax.Array], jax.Array]:
    return {"x": jax.random.normal(jax.random.key(0), (count, 4))}, jnp.linspace(-1, 1, count)


@pytest.mark.parametrize("in_turn", [False, True])
@pytest.mark.parametrize("count", [1, 3])
def test_each_is_what_it_is_alone(count: int, in_turn: bool) -> None:
    tree, shift = several(count)
    found = jax.jit(partial(side_by_side, choose, in_turn=in_turn))(tree, shift)
    for number in range(count):
        alone = choose({"x": tree["x"][number]}, shift[number])
        for name, value in alone.items():
            np.testing.assert_allclose(found[name][number], value, atol=1e-6)


@pytest.mark.parametrize(
    ("count", "in_turn", "chooses"), [(1, False, True), (3, False, False), (3, True, True)]
)
def test_both_ways_of_a_choice_are_computed_only_where_several_are_together(
    count: int, in_turn: bool, chooses: bool
) -> None:
    program = jax.jit(partial(side_by_side, choose, in_turn=in_turn)).lower(*several(count)).as_text()
    assert ("stablehlo.case" in program) == chooses
