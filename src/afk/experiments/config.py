"""What a run is: one dataclass, written to the run's folder as JSON, and presets of it."""

import json
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from afk.agents.grid_agent import Size
from afk.agents.notebook import NoteTaking, Similarity
from afk.agents.variants import find_variant
from afk.envs.qbabyai.words import VOCABULARY
from afk.envs.registry import find_task, make
from afk.learn.ppo import Settings
from afk.learn.rollout import Play


@dataclass(frozen=True)
class Config:
    """A run.

    Attributes:
        task: what is trained on.
        agent: the variant that is trained.
        seed: what everything random is drawn from.
        steps: environment steps to train for.
        n_gram: 1 or 2, which n-grams relate two notes.
        size: the network.
        settings: PPO.
        levels: levels in the pool.
        chunk: updates between two looks at the run: fresh levels, a line in the log, a checkpoint.
        evaluate_every: updates between two evaluations; a multiple of `chunk`.
        evaluation_episodes: episodes of each.
    """

    task: str
    agent: str = "afk"
    seed: int = 24
    steps: int = 20_000_000
    n_gram: int = 2
    size: Size = field(default_factory=Size)
    settings: Settings = field(default_factory=Settings)
    levels: int = 4096
    chunk: int = 50
    evaluate_every: int = 50
    evaluation_episodes: int = 500

    def __post_init__(self) -> None:
        find_task(self.task)
        find_variant(self.agent)
        for name in ("steps", "levels", "chunk", "evaluate_every", "evaluation_episodes"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is at least 1, not {getattr(self, name)}")
        if self.evaluate_every % self.chunk:
            raise ValueError(
                f"evaluate_every ({self.evaluate_every}) must be a multiple of chunk ({self.chunk})"
            )
        if find_task(self.task).max_steps < self.settings.bptt:
            raise ValueError(f"episodes of {self.task} are shorter than bptt ({self.settings.bptt})")

    @property
    def updates(self) -> int:
        """Updates until the steps are done, in whole chunks."""
        chunks = -(-self.steps // (self.settings.steps_per_update * self.chunk))
        return chunks * self.chunk

    @property
    def play(self) -> Play:
        """The fixed part of its loops."""
        rules = NoteTaking(
            VOCABULARY, dropped=("is", "in"), unknown=("i dont know",), similarity=Similarity(self.n_gram)
        )
        return Play(make(self.task), find_variant(self.agent), rules)

    def bonus_at(self, updates: int) -> float:
        """Beta after so many updates; 0 for an agent that gets no bonus."""
        settings = self.settings
        if not find_variant(self.agent).bonus:
            return 0.0
        past = (updates / self.updates - settings.bonus_until) / max(1e-9, 1 - settings.bonus_until)
        return settings.bonus * (1 - min(1.0, max(0.0, past)))

    def to_json(self) -> dict[str, Any]:
        """The run as plain JSON."""
        return asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> "Config":
        """The run that `to_json` wrote; a ValueError if it is not one."""
        try:
            parts = {"size": Size(**content["size"]), "settings": Settings(**content["settings"])}
            return Config(**(content | parts))
        except (KeyError, TypeError) as error:
            raise ValueError(f"this is not the configuration of a run: {error}") from error


# The paper's sizes and settings, and what fills a GPU. The authors train with rewards times 20.
PRESETS = {
    "paper": Config(task="qbabyai/object-in-box", settings=Settings(reward_scale=20.0)),
    "fast": Config(
        task="qbabyai/object-in-box",
        settings=Settings(
            environments=1024,
            minibatches=4,
            learning_rate=3e-4,
            reward_scale=20.0,
            entropy_weight=0.1,
            switch_entropy_weight=0.05,
            bonus=0.05,
            half_precision=True,
        ),
        levels=16384,
        chunk=10,
    ),
}


def preset(name: str, **changes: Any) -> Config:
    """A preset with some fields changed; a ValueError that lists them all if there is none of that name."""
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; it is one of {', '.join(PRESETS)}")
    return replace(PRESETS[name], **changes)


def read_config(folder: Path) -> Config:
    """The configuration of a run's folder; a ValueError if there is none or it cannot be read."""
    path = folder / "config.json"
    if not path.is_file():
        raise ValueError(f"{folder} is not the folder of a run: it has no config.json")
    try:
        return Config.from_json(json.loads(path.read_text()))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
