"""Every example runs, at toy size where it trains; what extends the project is undone afterwards."""

import runpy
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
LINES = 150  # of an example, at most


pytestmark = pytest.mark.usefixtures("registries")


def load(name: str) -> dict[str, Any]:
    """What an example defines."""
    return runpy.run_path(str(EXAMPLES / f"{name}.py"))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_an_example_is_short(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= LINES


def test_a_task_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    load("own_task")["main"](agents=("expert",), episodes=8)
    said = capsys.readouterr().out
    assert "what danger zone" in said and "success 100%" in said


def test_a_clause_of_ones_own_is_solved_by_the_expert(capsys: pytest.CaptureFixture[str]) -> None:
    load("own_clause")["main"](episodes=8)
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 3 and all("expert 100%" in line for line in said)


@pytest.mark.slow
def test_a_network_of_ones_own_trains(capsys: pytest.CaptureFixture[str]) -> None:
    load("own_network")["main"](steps=1, episodes=4)
    assert "bag-of-words on Object in Box: success" in capsys.readouterr().out


@pytest.mark.slow
def test_an_algorithm_of_ones_own_trains(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 <= load("own_algorithm")["main"](steps=1, levels=4) <= 1
    assert "A2C on Danger" in capsys.readouterr().out


@pytest.mark.slow
def test_the_minimal_agent_learns(capsys: pytest.CaptureFixture[str]) -> None:
    rate = load("minimal_ppo")["main"](50)
    assert "64,000 steps" in capsys.readouterr().out
    assert rate > 0.25  # of chance: 3%
