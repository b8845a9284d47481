"""Where training starts, which is compiled as a whole and comes out as if it was not."""

import logging
from collections import Counter
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from afk.training.build import make_agent
from afk.training.levels import NETWORK, run_key
from afk.training.starting import first_learner
from afk.training.trainer import start_run, train

from .tiny_run import TINY


@pytest.mark.parametrize("agent", ["afk", "afk-plus"])
def test_a_new_network_is_the_one_that_is_made_step_by_step(agent: str) -> None:
    config = replace(TINY, agent=agent)
    plain = make_agent(config, run_key(24, NETWORK))
    pairs = map(jax.tree.leaves, (first_learner(config, 24).agent, plain))
    for one, other in zip(*pairs, strict=True):
        assert np.allclose(one, other, rtol=1e-5, atol=1e-6)  # as these tests compile, rounded otherwise


@pytest.mark.slow
def test_few_programs_are_compiled_to_train(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    jax.clear_caches()
    said: list[str] = []
    start_run(replace(TINY, steps=160), tmp_path)
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        list(train(tmp_path, say=said.append))
    words = [record.getMessage().split() for record in caplog.records]
    compiled = Counter(each[4] for each in words if each[:4] == ["Finished", "XLA", "compilation", "of"])
    assert compiled["jit(_run_updates)"] == compiled["jit(_init)"] == 1
    assert compiled.total() <= 20  # of those that training waits for
    (line,) = said
    assert line.startswith("ready after ") and "compiled in " in line
