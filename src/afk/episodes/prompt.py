"""Playing yourself: one episode in the terminal, a line for every command or question."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from afk.envs.core import Environment, TimeStep
from afk.envs.qbabyai.text import describe_observation
from afk.envs.qtextworld.world.words import split_text
from afk.envs.registry import shared_program, world_of
from afk.episodes.terminal import draw_view
from afk.training.evaluate import draw_level


def _show_text(env: Environment[Any], state: Any, observation: Any) -> RenderableType:
    """What was said in bold, then the room and the inventory."""
    del state
    parts = map(env.vocabulary.decode, (observation.text, observation.mission, observation.response))
    said, room = split_text(*parts)
    return Group(Text(said, "bold"), Text(room))


def _show_grid(env: Environment[Any], state: Any, observation: Any) -> RenderableType:
    """The agent's view with a description beside it."""
    del env
    grid = Table.grid(padding=(0, 2))
    grid.add_row(draw_view(np.asarray(observation.image), state), describe_observation(observation, state))
    return grid


# How each world is shown to a person who plays.
_SHOW: dict[str, Callable[[Environment[Any], Any, Any], RenderableType]] = {
    "qbabyai": _show_grid,
    "qtextworld": _show_text,
}


def play(console: Console, env: Environment[Any], *, seed: int) -> None:
    """Play one fresh level with the lines that are typed, until it is over or the lines are."""
    pool = draw_level(env, seed=seed)
    state, observation = jax.tree.map(lambda leaf: leaf[0], (pool.states, pool.observations))
    show, text = _SHOW[env.world], world_of(env).text
    step, time_step, steps, score = jax.jit(shared_program(env).step), None, 0, 0.0
    console.rule(f"[bold]{env.name}")
    console.print(show(env, *jax.device_get((state, observation))))
    console.print("`help` says what you can write, `quit` ends.", style="dim")
    while time_step is None or not time_step.done:
        line = _read_line(console, f"{steps} of {env.max_steps} steps, score {score:.2f} > ")
        if line is None or line.lower() == "quit":
            break
        if line.lower() == "help":
            console.print(text.help(env, state), highlight=False, markup=False)
            continue
        try:
            action = text.read(env, line)
        except ValueError as error:
            console.print(str(error), style="yellow", highlight=False, markup=False)
            continue
        state, time_step = step(state, action)
        time_step = jax.device_get(time_step)
        steps, score = steps + 1, score + float(time_step.reward)
        console.print(show(env, jax.device_get(state), time_step.observation))
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
    stats = time_step.stats
    return Text.assemble(
        (ending, "bold green" if time_step.success else "bold red"),
        f" after {stats.steps} steps, score {score:.2f}; "
        f"questions {stats.queries}, good ones {stats.good} of {stats.wanted}",
    )
