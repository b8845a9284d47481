"""Games as a `verifiers` environment: the episode plays the user, the model answers in plain text.

python -m venv .verifiers && .verifiers/bin/pip install -r examples/training/verifiers-requirements.txt

Make this file known to `verifiers` as a package of its own, as its documents say; a task is a level, and the
same number gives the same level in every rollout of a group.
"""

import itertools
from collections.abc import Iterator

import verifiers.v1 as vf  # pyright: ignore[reportMissingImports]

from afk.envs.registry import make
from afk.play.conversation import GIVES_UP
from afk.play.episode import Episode
from afk.play.player import begin_episode, first_state
from afk.play.tools import describe_form, read_reply

__all__ = ["GameEnv", "GameTaskset"]
FRESH = 1_000  # the seed of the first level; `afk eval` plays seed 0


class GameConfig(vf.TasksetConfig):
    """What is played; see `Episode`."""

    game: str = "C"
    mode: str = "asking"
    macros: bool = True


class GameData(vf.TaskData):
    """A level."""

    game: str
    seed: int
    mode: str
    macros: bool


class GameTask(vf.Task[GameData, vf.State, vf.TaskConfig]):
    """A level as a task; the environment scores it."""


class GameEnvConfig(vf.EnvConfig):
    """Who plays."""

    player: vf.AgentConfig = vf.AgentConfig()


def begin(data: GameData) -> Episode:
    """The episode of a level."""
    env = make(data.game)
    state = first_state(env, seed=data.seed, level=0)
    return begin_episode(env, state, seed=data.seed, mode=data.mode, macros=data.macros)


class GameEnv(vf.Env[GameEnvConfig]):
    """One rollout: each reply of the model is a step, each observation the user's next message."""

    async def run(self, task: GameTask, agents: vf.Agents) -> None:
        """Play a level to its end."""
        episode, in_vain = begin(task.data), 0
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                (call,) = read_reply({"content": segment.last_reply})
                before = episode.invalid
                play = {"act": episode.act, "ask": episode.ask}.get(call.tool, episode.reject)
                seen = play(call.line)
                in_vain = in_vain + 1 if episode.invalid > before else 0
                if episode.is_over or in_vain >= GIVES_UP:
                    break
                segment = await interaction.turn(seen)
        interaction.trace.record_reward("game_reward", episode.reward, 1.0)
        interaction.trace.info["ending"] = episode.ending


class GameTaskset(vf.Taskset[GameTask, GameConfig]):
    """Fresh levels without end."""

    INFINITE = True

    def load(self) -> Iterator[GameTask]:
        """A task for each level."""
        config = self.config
        for seed in itertools.count(FRESH):
            options = {"game": config.game, "seed": seed, "mode": config.mode, "macros": config.macros}
            data = GameData(name=f"{config.game}#{seed}", **options)
            episode = begin(data)
            rules = f"{episode.rules}\n{describe_form(config.mode, tools=False)}"
            told = {"prompt": episode.observation, "system_prompt": rules}
            yield GameTask(data.model_copy(update=told), config.task)
