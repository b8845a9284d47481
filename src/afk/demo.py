"""What the project is about in five minutes: an agent that asks plays, then another one learns to."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from afk.envs.qtextworld.bank import load_bank
from afk.envs.qtextworld.tasks import Task as TextTask
from afk.envs.registry import find_task, make
from afk.experiments.evaluate import play_agent, summarise
from afk.experiments.log import read_log
from afk.experiments.presets import preset
from afk.experiments.progress import train_with_bar
from afk.experiments.recorder import record_episode
from afk.experiments.shelf import SHIPPED, SHOWN, find_agent, play_on, shipped_tasks
from afk.experiments.train import start_run
from afk.experiments.watch import show_episode

TASK = "qbabyai/danger"  # what is learned
_EPISODES = 100
_GOOD = 0.92  # success at which the demonstration stops training


def show(console: Console, *, seed: int, steps: int | None = None) -> None:
    """Evaluate a shipped agent, print an episode of it and one in text, and train a small one.

    Args:
        console: where to print.
        seed: what levels are drawn with.
        steps: how long to train at most; as long as the preset says if not given.
    """
    agent = find_agent(SHIPPED, (SHOWN,))
    play = play_on(agent, make(SHOWN), name=SHIPPED)
    console.rule(f"[bold]A trained agent on {SHOWN}")
    summary = summarise(play_agent(play, agent.network, episodes=_EPISODES, seed=seed))
    console.print(
        f"{summary['success']:.1%} of {_EPISODES} fresh levels solved, in {summary['episode_length']:.1f} "
        f"steps with {summary['queries']:.1f} questions (F1 {summary['f1']:.2f}). One of them:"
    )
    show_episode(console, record_episode(play, agent.network, seed=seed))
    show_text(console, seed=seed)
    console.rule(f"[bold]A small agent learns {TASK} on this machine")
    changes = {} if steps is None else {"steps": steps}
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        start_run(preset("laptop", [TASK], **changes), run)
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
    """Print an episode of a shipped agent in text; nothing if there is none, or if the texts are missing."""
    tasks = [task for task in shipped_tasks() if isinstance(find_task(task), TextTask)]
    if not tasks:
        return
    try:
        load_bank()
    except ValueError:
        return
    task = tasks[-1]  # by the alphabet: the more there is to do, the later
    console.rule(f"[bold]A trained agent on {task}")
    agent = find_agent(SHIPPED, (task,))
    play = play_on(agent, make(task), name=SHIPPED)
    show_episode(console, record_episode(play, agent.network, seed=seed))
