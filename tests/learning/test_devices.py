"""A function for each of several, and of shares: together, in turn or apart, the results are the same."""

import json
import os
import subprocess
import sys
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


# What eight devices do with sequences of steps, whose gradient is that of their mean; printed as JSON.
EIGHT = """
import json, sys
import jax, jax.numpy as jnp
from afk.learning.devices import by_share, everywhere, on_devices, place, side_by_side, spread, use_devices

def refused(*asked):
    try:
        use_devices(*asked)
    except ValueError as error:
        return str(error)

def chosen(*asked):
    mesh = use_devices(*asked)
    return [mesh.axis_names[0], mesh.size]

def loss(weight, rows):
    steps = rows.swapaxes(0, 1).reshape(-1, 3)  # as networks do: steps first, then all of them in one axis
    return (jnp.tanh(steps @ weight) ** 2).mean()

def differentiate(weight, rows):
    return jax.grad(loss)(weight, rows)[None]

def learn(weight, rows):
    return by_share(differentiate, weight, spread(rows)).mean(0), everywhere(rows)

def draw(key):
    return spread(jax.random.normal(key, (16, 2)))

def descend(weight):
    return weight - jax.grad(loss)(weight, jnp.ones((2, 5, 3)))

def run(function, mesh, *arguments):
    with on_devices(mesh):
        return jax.jit(function).lower(*arguments).compile()

key = jax.random.key(0)
weight, rows = jax.random.normal(key, (3, 4)), jax.random.normal(key, (16, 5, 3))
eight, one = use_devices(8, 1, {"environments": 16}), use_devices(1, 1, {"environments": 16})
shared = run(lambda *each: learn(*each)[0], eight, weight, rows)
whole = run(learn, one, weight, rows)
stacked = jax.random.normal(key, (8, 3, 4))
seeds = use_devices(8, 8, {"environments": 1})
apart = run(lambda each: side_by_side(descend, each), seeds, place(stacked, seeds, has_rows=False))
print(json.dumps({
    "chosen": [chosen(None, 1, {"a": 12, "b": 24}), chosen(None, 4, {"a": 3}), chosen(2, 2, {"a": 3})],
    "refused": [refused(8, 1, {"environments": 16, "sequences": 12}), refused(9, 1, {"environments": 9})],
    "difference": float(jnp.abs(shared(weight, rows) - whole(weight, rows)[0]).max()),
    "gathers": shared.as_text().count("all-gather("),
    "sums": shared.as_text().count("all-reduce("),
    "draws": bool((run(draw, eight, key)(key) == run(draw, one, key)(key)).all()),
    "seeds": float(jnp.abs(apart(place(stacked, seeds, has_rows=False)) - jax.vmap(descend)(stacked)).max()),
    "said by seeds": sum(apart.as_text().count(each) for each in ("all-gather(", "all-reduce(")),
}))
"""


@pytest.fixture(scope="module")
def eight() -> dict[str, Any]:
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=8"
    command, environment = [sys.executable, "-c", EIGHT], os.environ | {"XLA_FLAGS": flags}
    done = subprocess.run(command, env=environment, check=True, timeout=300, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def test_devices_share_rows_and_add_up_gradients_only(eight: dict[str, Any]) -> None:
    assert eight["difference"] < 1e-6
    assert (eight["gathers"], eight["sums"]) == (0, 1)


def test_random_numbers_do_not_depend_on_devices(eight: dict[str, Any]) -> None:
    assert eight["draws"]


def test_devices_with_a_seed_each_have_nothing_to_say(eight: dict[str, Any]) -> None:
    assert eight["seeds"] < 1e-6 and eight["said by seeds"] == 0


def test_as_many_devices_are_used_as_can_share(eight: dict[str, Any]) -> None:
    assert eight["chosen"] == [["rows", 6], ["seeds", 4], ["seeds", 2]]
    assert eight["refused"] == [
        "12 sequences cannot be shared evenly by 8 devices",
        "there are 8 devices, so --devices is from 1 to that, not 9",
    ]
