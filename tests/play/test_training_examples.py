"""The examples that train language models, without the packages that they are for."""

import asyncio
import runpy
import sys
from itertools import islice
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from afk.play.conversation import GIVES_UP
from afk.play.expert import make_expert

TRAINING = Path(__file__).parents[2] / "examples" / "training"


class Part:
    """What the example takes of `verifiers`: classes of fields, which may have parameters."""

    task: Any = None

    def __init__(self, *given: Any, **fields: Any) -> None:
        vars(self).update(fields, **({"data": given[0]} if given else {}))

    def __class_getitem__(cls, parameters: Any) -> type["Part"]:
        return cls

    def model_copy(self, *, update: dict[str, Any]) -> "Part":
        return type(self)(**vars(self) | update)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names of the example for `verifiers`."""
    package, module = ModuleType("verifiers"), ModuleType("verifiers.v1")
    names = ("TasksetConfig", "TaskData", "Task", "TaskConfig", "Taskset", "State", "EnvConfig", "Env")
    vars(module).update(dict.fromkeys((*names, "Agents", "AgentConfig"), Part))
    vars(package)["v1"] = module
    monkeypatch.setitem(sys.modules, "verifiers", package)
    monkeypatch.setitem(sys.modules, "verifiers.v1", module)
    return runpy.run_path(str(TRAINING / "verifiers_game.py"))


class Interaction:
    """A model in a rollout: what it says to what it reads, and what was written down of it."""

    def __init__(self, prompt: str, reply: Any) -> None:
        self.turns, self._prompt, self._reply = 0, prompt, reply
        self.rewards: dict[str, float] = {}
        self.trace = SimpleNamespace(info={}, record_reward=self._record)

    async def __aenter__(self) -> "Interaction":
        return self

    async def __aexit__(self, *error: object) -> None:
        return

    async def turn(self, seen: str | None = None) -> Any:
        self.turns += 1
        return SimpleNamespace(last_reply=self._reply(seen or self._prompt), terminated=False)

    def _record(self, name: str, value: float, weight: float) -> None:
        self.rewards[name] = weight * value


def play(example: dict[str, Any], task: Any, reply: Any) -> Interaction:
    interaction = Interaction(task.data.prompt, reply)
    player = SimpleNamespace(interaction=lambda _: interaction)
    asyncio.run(example["GameEnv"]().run(task, SimpleNamespace(player=player)))
    return interaction


def first_tasks(example: dict[str, Any], count: int) -> list[Any]:
    return list(islice(example["GameTaskset"](config=example["GameConfig"]()).load(), count))


def test_a_task_of_verifiers_is_a_level(example: dict[str, Any]) -> None:
    one, other = first_tasks(example, 2)
    assert vars(first_tasks(example, 1)[0].data) == vars(one.data)
    assert one.data.prompt != other.data.prompt and one.data.system_prompt == other.data.system_prompt
    assert [task.data.seed for task in (one, other)] == [1_000, 1_001]


def test_a_rollout_of_verifiers_pays_what_the_game_does(example: dict[str, Any]) -> None:
    (task,) = first_tasks(example, 1)
    expert = make_expert(task.data.system_prompt)

    def reply(seen: str) -> str:
        tool, line = expert.reply(seen)
        return f"{tool}: {line}"

    won = play(example, task, reply)
    assert 0 < won.rewards["game_reward"] < 1 and won.trace.info == {"ending": "success"}
    silent = play(example, task, lambda seen: "")
    assert silent.rewards == {"game_reward": 0} and silent.turns == GIVES_UP
    assert silent.trace.info == {"ending": "under way"}
