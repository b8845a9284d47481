"""The ``afk`` command."""

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.table import Table

from afk import cli_reproduce, cli_sweep, cli_tasks, cli_view
from afk.cli_bench import JsonOption, SeedOption, TaskOption, bench_app, count_steps, make_console
from afk.records import keep_compiled_programs

if TYPE_CHECKING:
    from afk.experiments.config import Config

app = typer.Typer(
    help="Agents that ask: queryable environments, and agents that learn when and what to ask.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(bench_app, name="bench")
textworld_app = typer.Typer(help="What Q-TextWorld needs.", no_args_is_help=True)
app.add_typer(textworld_app, name="textworld")
app.command()(cli_tasks.tasks)
app.command()(cli_tasks.play)
app.command()(cli_reproduce.reproduce)
app.command()(cli_view.view)
app.command()(cli_sweep.sweep)

AgentArgument = Annotated[
    str,
    typer.Argument(
        help="Who plays: expert, random, shipped (it comes with afk), a run's folder, or a checkpoint."
    ),
]
AnyTaskOption = Annotated[
    bool, typer.Option("--any-task", help="Let an agent play a task it was not trained on.")
]


@app.command()
def train(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to train on, names or letters; `afk tasks` lists them. One given twice has two shares."
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="The variant: afk, query, no-query, afk-plus, ...", show_default="afk")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Sizes and settings: paper, paper-wide (text), fast, plain (afk-plus) or laptop.",
            show_default="by the device",
        ),
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(
            help="What everything is drawn with; may be given again, to train side by side.",
            show_default="24",
        ),
    ] = None,
    steps: Annotated[
        str | None,
        typer.Option(help="Environment steps a seed, such as 500K or 20M.", show_default="the preset's"),
    ] = None,
    bonus: Annotated[float | None, typer.Option(help="beta, what a useful answer is worth.")] = None,
    bonus_until: Annotated[
        float | None, typer.Option(help="The part of training after which the bonus falls to zero.")
    ] = None,
    lend_bonus: Annotated[
        bool | None, typer.Option("--lend-bonus", help="Take the bonus back when an episode ends.")
    ] = None,
    scattered: Annotated[
        float | None, typer.Option(help="The share of training levels that begin elsewhere.")
    ] = None,
    told: Annotated[
        float | None, typer.Option(help="The share of training levels that begin with some answers known.")
    ] = None,
    n_gram: Annotated[
        int | None,
        typer.Option(help="Which n-grams relate two notes, 1 or 2.", show_default="the preset's"),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="How similar related notes are.")] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another number of a run's config.json: settings.entropy_weight=0.03; may be given again.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="An agent to begin with: shipped, a run's folder, or a checkpoint."),
    ] = None,
    devices: Annotated[int | None, typer.Option(help="How many devices to use.", show_default="all")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the run.", show_default="runs/last")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run of this folder, as it is.")] = None,
) -> None:
    """Train an agent, or go on training one."""
    from afk.experiments.claim import claim
    from afk.experiments.config import read_config
    from afk.experiments.progress import say_what_next, train_with_bar
    from afk.experiments.shelf import find_agent
    from afk.experiments.train import check_start, start_run

    options = {"preset": preset, "out": out, "agent": agent, "seeds": tuple(seed) if seed else None}
    options |= {
        "steps": count_steps("--steps", steps) if steps else None,
        "bonus": bonus,
        "bonus_until": bonus_until,
        "lend_bonus": lend_bonus,
    }
    options |= {"scattered": scattered, "told": told, "n_gram": n_gram, "alpha": alpha, "from": start}
    options["set"] = dict(map(_read_change, changes)) if changes else None
    given = {name: value for name, value in options.items() if value is not None}
    if bool(tasks) == (resume is not None):
        raise ValueError("say either tasks to train on, or --resume and the folder of a run")
    if resume is not None and given:
        raise ValueError(f"--resume goes on with a run as it is: leave out {', '.join(given)}")
    folder = resume or out or Path("runs/last")
    # What cannot be trained is refused before anything is written there.
    config = _configure(tasks, given, devices) if tasks else read_config(folder)
    first = None if start is None else find_agent(start, config.tasks, any_task=True).network
    if tasks:
        check_start(config, folder, first)
    with claim(folder):
        if tasks:
            start_run(config, folder, first)
        finished = train_with_bar(folder, Console(stderr=True), devices=devices)
    say_what_next(folder, Console(stderr=True), finished=finished)
    if not finished:
        raise typer.Exit(130)


def _configure(tasks: list[str], given: dict[str, Any], devices: int | None) -> "Config":
    """The run that the command line asks for; a ValueError if there is none such."""
    from afk.experiments.config import change
    from afk.experiments.presets import default_preset
    from afk.experiments.presets import preset as find_preset
    from afk.learn.parallel import use_devices

    name = given.get("preset") or default_preset()
    named = ("agent", "seeds", "steps", "scattered", "told", "n_gram", "alpha")
    fields = {key: given[key] for key in named if key in given}
    config = find_preset(name, tasks, **fields)
    changes = {key: given[key] for key in ("bonus", "bonus_until", "lend_bonus") if key in given}
    unknown = [key for key in changes if not hasattr(config.settings, key)]
    if unknown:
        raise ValueError(f"preset {name} trains with DQN, which has no {unknown[0]}")
    _refuse_idle(given, config.agent)
    config = change(replace(config, settings=replace(config.settings, **changes)), given.get("set", {}))
    use_devices(devices, config.settings.environments)
    return config


def _read_change(text: str) -> tuple[str, Any]:
    """The name and the value of ``NAME=VALUE``."""
    name, _, value = text.partition("=")
    try:
        return name, json.loads(value)
    except ValueError as error:
        raise ValueError(f"--set takes NAME=VALUE with a number, or true or false, not {text!r}") from error


def _refuse_idle(given: dict[str, Any], agent: str) -> None:
    """Refuse options that are about something that the agent does not have."""
    from afk.agents.variants import find_variant

    variant = find_variant(agent)
    about = {"bonus": ("bonus", "bonus_until", "lend_bonus"), "notebook": ("told", "n_gram", "alpha")}
    for part, names in about.items():
        idle = [name for name in names if name in given and not getattr(variant, part)]
        if idle:
            raise ValueError(f"{agent} has no {part}: leave out --{idle[0].replace('_', '-')}")


@app.command(name="eval")
def evaluate(
    agent: AgentArgument,
    task: TaskOption,
    episodes: Annotated[int, typer.Option(min=1, help="How many fresh levels are played.")] = 500,
    seed: SeedOption = 0,
    any_task: AnyTaskOption = False,
    as_json: JsonOption = False,
) -> None:
    """Play fresh levels of a task and print the paper's measures."""
    from rich.progress import track

    from afk.envs.registry import make, make_roomy, task_named
    from afk.experiments.evaluate import POLICIES, play, play_agent, summarise
    from afk.experiments.shelf import find_agent, play_on

    task = task_named(task)
    summary = {"agent": agent, "task": task, "seed": seed}
    if agent in POLICIES:
        chunks = play(make(task), POLICIES[agent], episodes=episodes, seed=seed)
    else:
        found = find_agent(agent, (task,), any_task=any_task)
        summary |= {"variant": found.config.agent, "trained_with_seed": found.seed}
        # In the world that it was trained in, for which there is a program already.
        play_there = play_on(found, make_roomy(task), name=agent)
        chunks = play_agent(play_there, found.network, episodes=episodes, seed=seed)
    chunks = track(chunks, f"{agent} on {task}", console=Console(stderr=True), transient=True, total=None)
    summary |= summarise(chunks)
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    low, high = summary.pop("success_interval")
    table = Table("measure", "value")
    for name, value in summary.items():
        shown = f"{value:.3f}" if isinstance(value, float) else str(value)
        title = "|Q_t|" if name == "good_queries" else name.replace("_", " ")
        table.add_row(title, f"{shown} (95%: {low:.3f} to {high:.3f})" if name == "success" else shown)
    make_console().print(table)


@app.command()
def watch(
    agent: Annotated[
        str, typer.Argument(help="Who plays: shipped (it comes with afk), a run's folder, or a checkpoint.")
    ],
    task: TaskOption,
    seed: SeedOption = 0,
    gif: Annotated[Path | None, typer.Option(help="Write the episode to this file as well.")] = None,
    any_task: AnyTaskOption = False,
) -> None:
    """Watch an agent think: what it sees, does, asks, is told and notes, step by step."""
    from afk.envs.registry import make
    from afk.experiments.recorder import record_episode
    from afk.experiments.shelf import find_agent, play_on
    from afk.experiments.watch import check_gif, show_episode, write_gif

    env = make(task)
    if gif is not None:
        check_gif(gif)
    found = find_agent(agent, (task,), any_task=any_task)
    recording = record_episode(play_on(found, env, name=agent), found.network, seed=seed)
    show_episode(make_console(), recording)
    if gif is not None:
        write_gif(gif, recording)
        print(f"written: {gif}", file=sys.stderr)


@app.command()
def demo(seed: SeedOption = 0) -> None:
    """See a trained agent play and ask, and a small one learn to, in minutes."""
    from afk.demo import show

    show(make_console(), seed=seed)


@textworld_app.command()
def prepare() -> None:
    """Make the texts of Q-TextWorld from the installed textworld package, and keep them in the cache."""
    from rich.progress import Progress

    from afk.envs.qtextworld.bank import bank_path, prepare_bank

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("making texts", total=1.0)
        bank = prepare_bank(progress=lambda share: bar.update(task, completed=share))
    print(f"{len(bank.words):,} words, {len(bank.intros):,} variants of every text: {bank_path()}")


def main() -> None:
    """Run a command; what the user got wrong is one line on the error stream and exit code 2."""
    keep_compiled_programs()
    try:
        sys.exit(app(standalone_mode=False))
    except ValueError as error:
        _fail(str(error))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except Exception as error:
        # A usage error of the command line; where its class lives depends on typer's version.
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        _fail(explain())


def _fail(message: str) -> NoReturn:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
