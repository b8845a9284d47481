"""Playing yourself: one episode in the terminal, a line for every command or question."""

from typing import Any, Protocol

import jax
import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from afk.envs.base import Environment, TimeStep
from afk.envs.qbabyai import cells
from afk.envs.qbabyai.state import Observation as GridObservation
from afk.envs.qbabyai.state import State as GridState
from afk.envs.qbabyai.text import MAP_LEGEND, describe_observation, read_action
from afk.envs.qbabyai.words import VOCABULARY
from afk.envs.qtextworld.commands import possible_commands, read_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.state import Observation as TextObservation
from afk.envs.qtextworld.state import State as TextState
from afk.envs.qtextworld.words import ORACLE, split_text
from afk.experiments.evaluate import draw_level
from afk.experiments.watch import draw_view


class _Face(Protocol):
    """How a world meets a person in the terminal."""

    def show(self, state: Any, observation: Any) -> RenderableType:
        """What is seen and was said."""
        ...

    def read(self, line: str) -> np.ndarray:
        """The action that a line stands for; a ValueError if there is none."""
        ...

    def help(self, state: Any) -> str:
        """What can be written."""
        ...


class _Kitchen:
    """Q-TextWorld's face."""

    def __init__(self, env: QTextWorld) -> None:
        self._task, self._decode = env.task, env.vocabulary.decode

    def show(self, state: TextState, observation: TextObservation) -> RenderableType:
        """What was said in bold, then the room and the inventory."""
        del state
        parts = map(self._decode, (observation.text, observation.mission, observation.response))
        said, room = split_text(*parts)
        return Group(Text(said, "bold"), Text(room))

    def read(self, line: str) -> np.ndarray:
        """See `read_command`."""
        return read_command(self._task, line)

    def help(self, state: TextState) -> str:
        """The commands that can be carried out now, and the questions."""
        questions = (f"ask {ORACLE} where NAME", f"ask {ORACLE} how NAME")
        return "\n".join([*possible_commands(self._task, state), *questions])


class _Rooms:
    """Q-BabyAI's face."""

    def show(self, state: GridState, observation: GridObservation) -> RenderableType:
        """The agent's view with a description beside it."""
        grid = Table.grid(padding=(0, 2))
        grid.add_row(draw_view(np.asarray(observation.image), state), describe_observation(observation))
        return grid

    def read(self, line: str) -> np.ndarray:
        """See `read_action`."""
        return read_action(line)

    def help(self, state: GridState) -> str:
        """The physical actions, the questions, and what the map's marks mean."""
        del state
        return (
            f"{', '.join(cells.ACTIONS)}\n"
            f"{' or '.join(VOCABULARY.functions)}, perhaps an adjective, and a noun: `where red ball`\n"
            f"you look up from the lowest row of your view: {MAP_LEGEND}"
        )


def play(console: Console, env: Environment[Any], *, seed: int) -> None:
    """Play one fresh level with the lines that are typed, until it is over or the lines are."""
    pool = draw_level(env, seed=seed)
    state, observation = jax.tree.map(lambda leaf: leaf[0], (pool.states, pool.observations))
    face: _Face = _Kitchen(env) if isinstance(env, QTextWorld) else _Rooms()
    step, time_step, steps, score = jax.jit(env.step), None, 0, 0.0
    console.rule(f"[bold]{env.name}")
    console.print(face.show(*jax.device_get((state, observation))))
    console.print("`help` says what you can write, `quit` ends.", style="dim")
    while time_step is None or not time_step.done:
        line = _read_line(console, f"{steps} of {env.max_steps} steps, score {score:.2f} > ")
        if line is None or line.lower() == "quit":
            break
        if line.lower() == "help":
            console.print(face.help(state), highlight=False, markup=False)
            continue
        try:
            action = face.read(line)
        except ValueError as error:
            console.print(str(error), style="yellow", highlight=False, markup=False)
            continue
        state, time_step = step(state, action)
        time_step = jax.device_get(time_step)
        steps, score = steps + 1, score + float(time_step.reward)
        console.print(face.show(jax.device_get(state), time_step.observation))
    console.print(_ending(time_step, score))


def _read_line(console: Console, prompt: str) -> str | None:
    """The next line that says something; nothing when there are no more."""
    try:
        while not (line := console.input(prompt).strip()):
            pass
    except EOFError:
        console.print()
        return None
    return line


def _ending(time_step: TimeStep | None, score: float) -> Text:
    """How it ended, in one sentence."""
    if time_step is None:
        return Text("ended before the first step")
    if time_step.done:
        ending = "success" if time_step.success else "failure" if time_step.terminated else "out of time"
    else:
        ending = "ended"
    tally = time_step.tally
    return Text.assemble(
        (ending, "bold green" if time_step.success else "bold red"),
        f" after {tally.steps} steps, score {score:.2f}; "
        f"questions {tally.queries}, good ones {tally.good} of {tally.wanted}",
    )
