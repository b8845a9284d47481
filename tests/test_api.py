"""What `import afk` gives: lazily, and as the documents use it."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import afk
from afk.envs.asking import Asking
from afk.studies.study import do_run
from afk.training import build, checkpoint
from afk.training.config import Config
from afk.training.legacy import downgrade_path
from afk.training.pretrained import TrainedAgent
from afk.training.trainer import check_start, start_run

from .training.tiny_run import TINY

QUIET = Console(quiet=True)


def make_checkpoint(folder: Path, config: Config = TINY) -> Path:
    """An agent that knows nothing, as a checkpoint."""
    path = folder / "best-24.safetensors"
    agent = build.make_agent(config, build.jax.random.key(0))
    checkpoint.save(path, agent, checkpoint.describe(config, seed=24))
    return path


def test_importing_afk_imports_no_jax() -> None:
    code = "import afk, sys; print(afk.__version__, 'jax' in sys.modules, 'train' in dir(afk))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.split()[1:] == ["False", "True"]


def test_what_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = afk.nothing  # pyright: ignore[reportAttributeAccessIssue]
    assert {"make", "register", "load_agent", "train", "evaluate", "watch"} <= set(afk.__all__)


def test_an_agent_is_loaded_by_its_path_alone(tmp_path: Path) -> None:
    path = make_checkpoint(tmp_path)
    assert isinstance(afk.load_agent(path), TrainedAgent)
    assert afk.load_agent().config.agent == "afk-plus"
    with pytest.raises(
        ValueError, match=r"was trained on qbabyai/danger, not on qbabyai/open-door; any_task"
    ):
        afk.load_agent(path, "H")


def test_an_agent_plays_other_tasks_only_if_it_may(tmp_path: Path) -> None:
    agent = afk.load_agent(make_checkpoint(tmp_path))
    with pytest.raises(
        ValueError, match=r"was trained on qbabyai/danger, not on qbabyai/open-door; any_task"
    ):
        afk.evaluate(agent, "H", episodes=2)
    assert afk.evaluate(agent, "H", episodes=2, any_task=True)["episodes"] == 2


def test_experts_are_evaluated_and_watched() -> None:
    assert afk.evaluate("expert", "S", episodes=5)["success"] == 1
    trace = afk.watch("expert", "S", seed=3)
    assert trace.ending == "success" and trace.steps[0].asks


@pytest.mark.parametrize(
    ("asking", "refusal"),
    [
        (Asking(mode="all-told"), "expert does not go by answers: mode all-told is for agents that do"),
        (Asking("human"), "expert does not go by answers: source human is for agents that do"),
    ],
)
def test_experts_do_not_go_by_answers(asking: Asking, refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        afk.evaluate("expert", "S", episodes=1, asking=asking)
    with pytest.raises(ValueError, match=refusal):
        afk.watch("expert", "S", asking=asking)


def test_a_folder_of_other_seeds_is_refused(tmp_path: Path) -> None:
    start_run(TINY, tmp_path / "run")
    with pytest.raises(ValueError, match=r"holds another run: seeds is \(24,\), not \(7, 8\)"):
        do_run(replace(TINY, seeds=(7, 8)), tmp_path / "run", console=QUIET, levels=4)


def test_what_has_no_world_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_world(*names: str) -> None:
        raise ValueError(f"there is no world for {', '.join(names)}")

    monkeypatch.setattr(build, "make_roomy", no_world)
    with pytest.raises(ValueError, match="there is no world for qbabyai/danger"):
        check_start(TINY, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_digest_under_earlier_names_is_known() -> None:
    plus = replace(TINY, agent="afk-plus")
    agent = build.make_agent(plus, build.jax.random.key(0))
    arrays = checkpoint._named(agent).items()
    now, earlier = (
        checkpoint.digest(agent),
        checkpoint._digest({downgrade_path(name): x for name, x in arrays}),
    )
    assert now != earlier
    assert checkpoint.is_called(agent, now) and checkpoint.is_called(agent, earlier)
    assert not checkpoint.is_called(build.make_agent(plus, build.jax.random.key(1)), earlier)
