"""Finding out why a minibatch was skipped: what is planted is found, where it was planted."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import pytest

from afk.training.config import read_config
from afk.training.keeping import BEFORE_SKIP, STATE, forget_training, save_state
from afk.training.log import read_log
from afk.training.starting import first_learners
from afk.training.trainer import start_run, train

from ..training.tiny_run import TINY

SCRIPT = Path(__file__).parents[2] / "benchmarks/replay_skip.py"


@pytest.mark.slow
def test_a_broken_memory_is_found_and_named(tmp_path: Path) -> None:
    start_run(TINY, tmp_path)
    learner = first_learners(TINY)
    actors = learner.actors
    memory = actors.memory.at[0, 3].set(jnp.nan)
    broken = replace(actors, memory=memory, starts=jnp.zeros_like(actors.starts))
    save_state(tmp_path, TINY, replace(learner, actors=broken))
    planted = (tmp_path / STATE).read_bytes()

    next(train(tmp_path))
    assert read_log(tmp_path)[-1]["losses"]["skipped"] == 0.5, "one of two minibatches"
    assert (tmp_path / BEFORE_SKIP).read_bytes() == planted, "kept, since a state was saved after it"

    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path, "--lines", "2"],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found = json.loads(done.stdout)
    assert found["skipped"] == found["skipped_again"] == [0.5]
    (minibatch,) = found["minibatches"]
    assert "['memory']" in minibatch["inputs"] and minibatch["output"]
    assert minibatch["gradients"] and minibatch["gradients_in_float32"]
    forget_training(tmp_path)
    assert not (tmp_path / BEFORE_SKIP).exists() and read_config(tmp_path) == TINY


@pytest.mark.slow
def test_a_run_that_skipped_nothing_is_refused_in_one_line(tmp_path: Path) -> None:
    start_run(TINY, tmp_path)
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 1 and done.stderr.startswith("error: ") and BEFORE_SKIP in done.stderr
