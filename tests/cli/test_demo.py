"""The demonstration, cut short."""

from dataclasses import replace
from importlib.resources import files
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from afk.agents.base import Size
from afk.cli import demonstration
from afk.envs.qtextworld.levels.tasks import Task as TextTask
from afk.envs.registry import find_task
from afk.training.config import Config
from afk.training.presets import preset
from afk.training.pretrained import PRETRAINED, SHOWN, find_agent, pretrained_tasks


def preset_in_small(name: str, tasks: list[str], **changes: Any) -> Config:
    """A preset whose network is small, and whose log has a line for each of its small updates."""
    config = preset(name, tasks, log_every=1, evaluate_every=1, evaluation_episodes=8, levels=32, **changes)
    return replace(
        config,
        size=Size(width=8, head=8, view_layers=1, film_blocks=1, distinct_notes=0),
        settings=replace(config.settings, environments=8, minibatches=2, epochs=1),
    )


@pytest.mark.slow
def test_the_demonstration_plays_shows_and_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    text = StringIO()
    monkeypatch.setattr(demonstration, "_EPISODES", 10)
    monkeypatch.setattr(demonstration, "preset", preset_in_small)
    monkeypatch.setattr(demonstration, "show_text", lambda console, *, seed: console.print("a transcript"))
    demonstration.show(Console(file=text, width=120), seed=0, steps=1)
    said = text.getvalue()
    assert said.index("A0") < said.index("of 10 fresh levels solved")  # nobody waits for what takes longer
    assert "a transcript" in said
    assert "success in evaluations as it learned:" in said


@pytest.mark.parametrize("task", pretrained_tasks())
def test_pretrained_agents_fit_their_task(task: str) -> None:
    if isinstance(find_task(task), TextTask):
        pytest.importorskip("textworld", reason="textworld is not installed; it takes a C compiler")
    agent = find_agent(PRETRAINED, (task,))
    assert task in agent.config.tasks


def test_pretrained_agents_are_small() -> None:
    agents = [file for file in files("afk.pretrained").iterdir() if file.name.endswith(".safetensors")]
    assert agents and all(len(file.read_bytes()) < 3_000_000 for file in agents)


def test_the_demonstrated_agent_is_pretrained() -> None:
    assert SHOWN in pretrained_tasks()
