"""Checkpoints: agents that are read back, under earlier names too, and agents that are not ours."""

from dataclasses import replace
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import pytest

from afk.agents.base import Agent
from afk.training import checkpoint, legacy
from afk.training.build import agent_shape, make_agent
from afk.training.config import Config
from afk.training.levels import NETWORK, run_key
from afk.training.pretrained import TrainedAgent, find_agent, load_agent, save_small
from afk.training.starting import first_learners

from .earlier import write_old
from .tiny_run import TINY

pytestmark = pytest.mark.slow
PLUS = replace(TINY, agent="afk-plus")


def network(config: Config) -> Agent:
    return make_agent(config, run_key(24, NETWORK))


def assert_same(left: object, right: object) -> None:
    for mine, theirs in zip(*map(jax.tree.leaves, (left, right)), strict=True):
        if jax.numpy.issubdtype(mine.dtype, jax.dtypes.prng_key):
            mine, theirs = jax.random.key_data(mine), jax.random.key_data(theirs)
        np.testing.assert_array_equal(mine, theirs)


def test_an_agent_under_earlier_names_is_the_agent(tmp_path: Path) -> None:
    path, agent = tmp_path / "best-24.safetensors", network(PLUS)
    parts = write_old(path, PLUS, eqx.filter(agent, eqx.is_array), seed=24)
    assert {"speech", "meeting", "told", "named"} <= parts
    assert not parts & {"query_heads", "attention", "function_context", "noun_context"}
    found = load_agent(path)
    assert (found.config, found.seed) == (PLUS, 24)
    assert_same(found.network, agent)


def test_a_state_under_earlier_names_is_where_training_stands(tmp_path: Path) -> None:
    path, learner = tmp_path / "state.safetensors", first_learners(PLUS)
    write_old(path, PLUS, eqx.filter(learner, eqx.is_array))
    checkpoint.check_origin(path, PLUS)
    assert_same(checkpoint.load(path, learner), learner)
    with pytest.raises(ValueError, match="of another run: agent is afk-plus, not afk"):
        checkpoint.check_origin(path, TINY)


@pytest.mark.parametrize("agent", ["afk", "query", "no-query", "afk-plus", "afk-plus-no-cell-attention"])
def test_no_part_has_a_name_from_before(agent: str) -> None:
    names = checkpoint.shapes(agent_shape(replace(TINY, agent=agent)))
    assert [*map(legacy.upgrade_path, names)] == [*names]


def test_a_checkpoint_of_other_seeds_is_of_another_run(tmp_path: Path) -> None:
    path = tmp_path / "state.safetensors"
    checkpoint.save(path, {"ones": np.ones(3)}, checkpoint.describe(TINY))
    labelled = replace(TINY, preset="tiny", held_out=("qbabyai/open-door",))
    checkpoint.check_origin(path, labelled)
    with pytest.raises(ValueError, match=r"of another run: seeds is \(24,\), not \(7, 24\)"):
        checkpoint.check_origin(path, replace(TINY, seeds=(7, 24)))


def test_a_small_agent_is_the_agent_in_half_precision(tmp_path: Path) -> None:
    path, agent = tmp_path / "small.safetensors", network(PLUS)
    save_small(path, TrainedAgent(PLUS, 24, agent))
    found = load_agent(path)
    for mine, theirs in zip(*map(jax.tree.leaves, (agent, found.network)), strict=True):
        assert theirs.dtype == mine.dtype
        np.testing.assert_allclose(mine, theirs, rtol=0.01, atol=1e-6)


def test_an_agent_whose_words_are_not_ours_is_refused(finished: Path, tmp_path: Path) -> None:
    network, path = find_agent(str(finished), TINY.tasks).network, tmp_path / "best-24.safetensors"
    description = checkpoint.describe(TINY, seed=24)
    checkpoint.save(path, network, description)
    assert find_agent(str(path), TINY.tasks).seed == 24
    checkpoint.save(path, network, description | {"words": "of another world"})
    with pytest.raises(ValueError, match=r"24\.safetensors is of a run with other words than qbabyai/danger"):
        find_agent(str(path), TINY.tasks)
    checkpoint.save(path, network, description | {"config": {"tasks": []}})
    with pytest.raises(ValueError, match=r"24\.safetensors cannot be read: this is not the config"):
        find_agent(str(path), TINY.tasks)


def test_what_levels_have_only_now_is_nothing_in_an_older_checkpoint(tmp_path: Path) -> None:
    path, tree = (
        tmp_path / "state.safetensors",
        {"level": {"danger": np.array([3], np.int8), "columns": np.array([2], np.int32)}},
    )
    checkpoint.save(path, tree, {})
    today = {"level": tree["level"] | {"boxes_passable": np.array([True])}}
    read = checkpoint.load(path, today)
    assert not read["level"]["boxes_passable"].any() and read["level"]["danger"] == 3
    with pytest.raises(ValueError, match=r"level\.columns"):
        checkpoint.load(path, {"level": {"danger": tree["level"]["danger"]}})
