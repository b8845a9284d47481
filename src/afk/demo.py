"""The expert solves one level of every task, as text."""

from typing import Any

import jax
import jax.numpy as jnp
from rich.console import Console
from rich.table import Table

from afk.envs.base import draw_pool
from afk.envs.qbabyai import dynamics
from afk.envs.qbabyai.text import MAP_LEGEND, describe_action, draw_map
from afk.envs.qbabyai.words import VOCABULARY
from afk.envs.registry import make, task_names
from afk.experiments.evaluate import Episodes, expert, play_actions, summarise

_EPISODES = 50
_step = jax.jit(dynamics.step)


def show(console: Console, *, seed: int) -> None:
    """Print an episode of every task with its questions and answers, and a table of success."""
    console.print(f"[bold]The expert asks, then acts.[/bold] On the maps: {MAP_LEGEND}.", highlight=False)
    table = Table(
        "task", "success", "levels", "steps", "queries", "|Q_t|", "F1", title="The expert on every task"
    )
    for name in task_names():
        summary = _show_task(console, name, seed)
        table.add_row(
            name,
            f"{summary['success']:.0%}",
            str(summary["episodes"]),
            *(f"{summary[measure]:.1f}" for measure in ("episode_length", "queries", "good_queries")),
            f"{summary['f1']:.2f}",
        )
    console.print(table)


def _show_task(console: Console, name: str, seed: int) -> dict[str, Any]:
    """Print the first of some levels step by step; returns how the expert did on all of them."""
    env = make(name)
    key = jax.random.key(seed)
    states = draw_pool(env, key, _EPISODES).states
    plans = expert(env, states, key)
    state = jax.tree.map(lambda leaf: leaf[0], states)
    console.rule(f"[bold]{name}")
    console.print(draw_map(state), highlight=False, markup=False)
    console.print(f"[bold]{VOCABULARY.decode(state.level.mission)}")
    walked: list[str] = []
    reward, ended = 0.0, ""
    for action in plans[0]:
        state, outcome = _step(state, jnp.asarray(action))
        reward += float(outcome.reward)
        if action[0]:
            _print_walk(console, walked)
            console.print(f'  {describe_action(action)} [green]"{VOCABULARY.decode(outcome.response)}"')
        else:
            walked.append(describe_action(action))
        if outcome.success or outcome.failure or outcome.timeout:
            ended = "[green]success" if outcome.success else "[red]failure"
            break
    _print_walk(console, walked)
    console.print(f"  {ended}[/] after {int(state.step)} steps, reward {reward:.2f}\n")
    return summarise([Episodes(*jax.device_get(play_actions(states, jnp.asarray(plans))))])


def _print_walk(console: Console, walked: list[str]) -> None:
    """Print physical actions in one line, and start a new one."""
    if walked:
        console.print(f"  [dim]{', '.join(walked)}", highlight=False)
        walked.clear()
