"""What the project is about in five minutes: an agent that asks plays, then another one learns to."""

import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from afk.envs.qtextworld.levels.bank import load_bank
from afk.envs.registry import find_task, make, world_of
from afk.episodes.terminal import show_episode
from afk.episodes.tracer import trace_episode
from afk.training.evaluate import play_agent, summarise
from afk.training.log import read_log
from afk.training.presets import preset
from afk.training.pretrained import PRETRAINED, SHOWN, find_agent, play_on, pretrained_tasks
from afk.training.progress import train_with_bar
from afk.training.trainer import start_run

TASK = "qbabyai/danger"  # what is learned
_EPISODES = 100
_GOOD = 0.92  # success at which the demonstration stops training


def show(console: Console, *, seed: int, steps: int | None = None) -> None:
    """Print an episode of a pretrained agent, evaluate it, print one in text, and train a small agent.

    Args:
        console: where to print.
        seed: what levels are drawn with.
        steps: how long to train at most; as long as the preset says if not given.
    """
    agent = find_agent(PRETRAINED, (SHOWN,))
    play = play_on(agent, make(SHOWN), name=PRETRAINED)
    console.rule(f"[bold]A trained agent on {SHOWN}")
    show_episode(console, trace_episode(play, agent.network, seed=seed))
    summary = summarise(play_agent(play, agent.network, episodes=_EPISODES, seed=seed))
    console.print(
        f"{summary['success']:.1%} of {_EPISODES} fresh levels solved like this one, in "
        f"{summary['episode_length']:.1f} steps with {summary['queries']:.1f} questions "
        f"(F1 {summary['f1']:.2f})."
    )
    show_text(console, seed=seed)
    console.rule(f"[bold]A small agent learns {TASK} on this machine")
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        config = preset("laptop", [TASK])
        start_run(config if steps is None else replace(config, steps=steps), run)
        start = time.perf_counter()
        if not train_with_bar(run, console, until=_GOOD):
            raise KeyboardInterrupt
        evaluations = [row["evaluation"] for row in read_log(run) if "evaluation" in row]
    rates = " ".join(f"{each['success']:.0%}" for each in evaluations[:: max(1, len(evaluations) // 12)])
    last = evaluations[-1]
    console.print(
        f"success in evaluations as it learned: {rates}; at the end {last['success']:.1%} in "
        f"{last['episode_length']:.1f} steps, after {time.perf_counter() - start:.0f} seconds."
    )


def show_text(console: Console, *, seed: int) -> None:
    """Print an episode of a pretrained agent in text; nothing if there is none, or no texts."""
    tasks = [task for task in pretrained_tasks() if world_of(find_task(task)).name == "qtextworld"]
    if not tasks:
        return
    try:
        load_bank()
    except ValueError:
        return
    task = tasks[-1]  # by the alphabet: the more there is to do, the later
    console.rule(f"[bold]A trained agent on {task}")
    agent = find_agent(PRETRAINED, (task,))
    play = play_on(agent, make(task), name=PRETRAINED)
    show_episode(console, trace_episode(play, agent.network, seed=seed))
