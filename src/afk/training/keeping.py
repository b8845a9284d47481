"""What the folder of a run keeps of training: where it stands, and agents. None is lost to a worse one."""

import math
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np

from afk.checks import is_number
from afk.files import read_bytes, remove_remains, write_file
from afk.training import checkpoint
from afk.training.config import Config
from afk.training.log import Row, read_log, remove_log
from afk.training.machine import describe_code

STATE, FIRST = "state.safetensors", "first.safetensors"
BEFORE_SKIP = "before-skip.safetensors"
_AGENTS = ("best-*.safetensors", "last-*.safetensors")


def save_state(folder: Path, config: Config, learner: Any) -> None:
    """Save where training stands, and which code led there."""
    checkpoint.save(folder / STATE, learner, checkpoint.describe(config, code=describe_code()))


def keep_before_skip(folder: Path, rows: Sequence[Row]) -> None:
    """Keep the last state before a minibatch was first skipped, to find out why.

    See `benchmarks/replay_skip.py`. Before the first state there is nothing to keep.

    Args:
        folder: of the run.
        rows: the new line of the log of each seed.
    """
    is_first = not (folder / BEFORE_SKIP).exists() and (folder / STATE).is_file()
    if is_first and any(row["losses"].get("skipped", 0.0) > 0 for row in rows):
        write_file(folder / BEFORE_SKIP, read_bytes(folder / STATE))


def other_code(folder: Path) -> str:
    """What of the code that saved a state is not so here, ``jax 0.6.0, not 0.7.0``; empty if nothing."""
    if not (folder / STATE).is_file():
        return ""
    before, here = checkpoint.read_description(folder / STATE).get("code"), describe_code()
    if not isinstance(before, dict):  # states did not say so once
        return ""
    found = {name: (before.get(name), value) for name, value in here.items() if before.get(name) != value}
    return ", ".join(f"{name} {str(theirs)[:20]}, not {ours}" for name, (theirs, ours) in found.items())


def check_state(folder: Path, config: Config, rows: Sequence[Row]) -> bool:
    """Whether there is a state to go on from; a ValueError if it is of another run, broken or lost.

    Args:
        folder: of the run.
        config: of the run.
        rows: of its log.
    """
    strange = [row["seed"] for row in rows if row["seed"] not in config.seeds]
    if strange:
        raise ValueError(f"the log in {folder} is of another run: it has seed {strange[0]}")
    if (folder / STATE).exists():
        checkpoint.check_origin(folder / STATE, config)
        return True
    agents = [path for pattern in _AGENTS for path in folder.glob(pattern)]
    trained = max([row["updates"] for row in rows] + [*map(_updates_of, agents)], default=0)
    if trained > config.log_every:  # after the first line of the log it may not be written yet
        raise ValueError(
            f"{folder} was trained for {trained:,} updates, but its {STATE} is lost: put it back, or give up "
            f"its log and its agents with: afk train --resume {shlex.quote(str(folder))} --restart"
        )
    return False


def forget_training(folder: Path) -> None:
    """Give up all that training left in a run's folder: it begins anew."""
    agents = [path for pattern in _AGENTS for path in folder.glob(pattern)]
    for path in (folder / STATE, folder / BEFORE_SKIP, folder / "record.json", *agents):
        path.unlink(missing_ok=True)
    remove_log(folder)  # the last: it tells that something was there


@contextmanager
def free_if_untrained(folder: Path, *, new: bool) -> Iterator[None]:
    """If the block fails before anything of a new run was saved, its folder is free for another one.

    Args:
        folder: of the run; whoever calls has the lock, whose file stays.
        new: whether it was started just now; it stays as it is otherwise.
    """
    try:
        yield
    except Exception:
        if new and not (folder / STATE).exists() and not read_log(folder):
            forget_training(folder)
            remove_remains(folder)
            for name in (FIRST, "config.json"):
                (folder / name).unlink(missing_ok=True)
        raise


def check_finite(config: Config, learner: Any, rows: Sequence[Row]) -> None:
    """A ValueError if training broke down: a loss or a parameter that is not finite.

    Args:
        config: the run.
        learner: all seeds.
        rows: the new line of the log of each seed.
    """
    leaves = jax.tree.leaves(jax.device_get(eqx.filter(learner.agent, eqx.is_inexact_array)))
    for index, row in enumerate(rows):
        is_sound = all(np.isfinite(leaf[index]).all() for leaf in leaves)
        broken = [f"losses.{name}" for name, value in row["losses"].items() if not math.isfinite(value)]
        broken += [] if is_sound else ["a parameter"]
        if broken:
            raise ValueError(
                f"training broke down: not finite after {row['steps']:,} steps of seed {row['seed']}: "
                f"{', '.join(broken)} (settings.learning_rate is {config.settings.learning_rate:g}); "
                "what was saved before stays as it is"
            )


def keep_agents(folder: Path, config: Config, learner: Any, rows: list[Row], new: list[Row]) -> None:
    """Write the agent of every seed, and once more if it is its best so far.

    Args:
        folder: of the run.
        config: of the run.
        learner: all seeds.
        rows: of the log so far.
        new: the evaluated line of each seed.
    """
    agents = jax.device_get(eqx.filter(learner.agent, eqx.is_array))
    for index, row in enumerate(new):
        seed, evaluation = row["seed"], row["evaluation"]
        agent = jax.tree.map(lambda leaf, index=index: leaf[index], agents)
        earlier = [each["evaluation"] for each in rows if each["seed"] == seed and "evaluation" in each]
        best = _merit(evaluation) > _best_merit(folder / f"best-{seed}.safetensors", earlier)
        description = checkpoint.describe(config, seed=seed, updates=row["updates"], evaluation=evaluation)
        for name in ("last", "best") if best else ("last",):
            checkpoint.save(folder / f"{name}-{seed}.safetensors", agent, description)


def _merit(evaluation: dict[str, Any]) -> tuple[float, float]:
    return evaluation["success"], -evaluation["episode_length"]


def _best_merit(path: Path, earlier: Sequence[dict[str, Any]]) -> tuple[float, float]:
    """How good the best agent of a seed is, by the log or, where that is lost, by its own file."""
    try:
        own = checkpoint.read_description(path).get("evaluation")
    except ValueError:  # it is not there, or broken
        return -math.inf, 0.0
    known = [*map(_merit, earlier)]
    if isinstance(own, dict) and is_number(own.get("success")) and is_number(own.get("episode_length")):
        known.append(_merit(own))
    # Files did not say so once: without a log, such an agent stays.
    return max(known, default=(math.inf, 0.0))


def _updates_of(path: Path) -> int:
    """After how many updates an agent was saved; 0 if that is not known."""
    try:
        updates = checkpoint.read_description(path).get("updates")
    except ValueError:
        return 0
    return int(updates) if is_number(updates, whole=True) else 0
