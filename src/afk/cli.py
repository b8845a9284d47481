"""The ``afk`` command."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Column, Table

app = typer.Typer(
    help="Agents that ask: queryable environments, and agents that learn when and what to ask.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
bench_app = typer.Typer(help="Measure speed.", no_args_is_help=True)
app.add_typer(bench_app, name="bench")

TaskOption = Annotated[str, typer.Option("--task", help="A task's name; `afk tasks` lists them.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
AgentArgument = Annotated[
    str,
    typer.Argument(
        help="Who plays: expert, random, shipped (it comes with afk), a run's folder, or a checkpoint."
    ),
]
AnyTaskOption = Annotated[
    bool, typer.Option("--any-task", help="Let an agent play a task it was not trained on.")
]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="What the levels are drawn with.")
]


@app.command()
def tasks(as_json: JsonOption = False) -> None:
    """List the tasks."""
    from afk.envs.registry import find_task, task_names

    rows = [
        {
            "task": task.name,
            "symbol": task.symbol,
            "rooms": task.plan.rooms,
            "room_size": task.plan.room_size,
            "max_steps": task.max_steps,
            "good_queries": len(task.questions),
            "early_termination": task.ends_early,
            "questions": list(task.questions),
        }
        for task in map(find_task, task_names())
    ]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    table = Table(
        Column("task", no_wrap=True),
        "",
        "rooms",
        "size",
        "max steps",
        "|Q_t|",
        "ends early",
        "good queries",
    )
    for row in rows:
        table.add_row(
            *(
                str(row[name])
                for name in ("task", "symbol", "rooms", "room_size", "max_steps", "good_queries")
            ),
            "yes" if row["early_termination"] else "no",
            ", ".join(row["questions"]),
        )
    _console().print(table)


@app.command()
def train(
    tasks: Annotated[
        list[str] | None, typer.Argument(help="What to train on, in equal shares; `afk tasks` lists them.")
    ] = None,
    agent: Annotated[str, typer.Option(help="The variant, such as afk, query or no-query.")] = "afk",
    preset: Annotated[str, typer.Option(help="Sizes and settings: paper, fast or laptop.")] = "fast",
    seed: Annotated[
        list[int] | None,
        typer.Option(help="What everything is drawn with [24]; may be given again, to train side by side."),
    ] = None,
    steps: Annotated[
        str | None, typer.Option(help="Environment steps a seed, such as 500K or 20M; as the preset has it.")
    ] = None,
    bonus: Annotated[float | None, typer.Option(help="beta, what a useful answer is worth.")] = None,
    n_gram: Annotated[
        int | None, typer.Option(help="Which n-grams relate two notes, 1 or 2; as in the paper.")
    ] = None,
    devices: Annotated[int | None, typer.Option(help="How many devices to use; all there are.")] = None,
    out: Annotated[Path, typer.Option(help="The folder of the run.")] = Path("runs/last"),
    resume: Annotated[Path | None, typer.Option(help="Go on with the run of this folder.")] = None,
) -> None:
    """Train an agent, or go on training one."""
    from dataclasses import replace

    from afk.experiments.config import preset as find_preset
    from afk.experiments.progress import show_progress
    from afk.experiments.train import start_run

    if bool(tasks) == (resume is not None):
        raise ValueError("say either tasks to train on, or --resume and the folder of a run")
    if tasks:
        given = {
            "seeds": tuple(seed) if seed else None,
            "steps": _count(steps) if steps else None,
            "n_gram": n_gram,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        config = find_preset(preset, tasks, agent=agent, **changes)
        if bonus is not None:
            config = replace(config, settings=replace(config.settings, bonus=bonus))
        start_run(config, out)
    finished = show_progress(resume or out, Console(stderr=True), devices=devices)
    if not finished:
        raise KeyboardInterrupt


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
    from dataclasses import replace

    from rich.progress import track

    from afk.envs.registry import make
    from afk.experiments.evaluate import POLICIES, play, play_agent, summarise
    from afk.experiments.shelf import find_agent

    env = make(task)
    summary = {"agent": agent, "task": task, "seed": seed}
    if agent in POLICIES:
        chunks = play(env, POLICIES[agent], episodes=episodes, seed=seed)
    else:
        found = find_agent(agent, (task,), any_task=any_task)
        summary |= {"variant": found.config.agent, "trained_with_seed": found.seed}
        chunks = play_agent(replace(found.config.play, env=env), found.network, episodes=episodes, seed=seed)
    chunks = track(chunks, f"{agent} on {task}", console=Console(stderr=True), transient=True, total=None)
    summary |= summarise(chunks)
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    low, high = summary.pop("success_interval")
    table = Table("measure", "value")
    for name, value in summary.items():
        shown = f"{value:.3f}" if isinstance(value, float) else str(value)
        table.add_row(
            name.replace("_", " "), f"{shown} (95%: {low:.3f} to {high:.3f})" if name == "success" else shown
        )
    _console().print(table)


@app.command()
def watch(
    agent: AgentArgument,
    task: TaskOption,
    seed: SeedOption = 0,
    gif: Annotated[Path | None, typer.Option(help="Write the episode to this file as well.")] = None,
    any_task: AnyTaskOption = False,
) -> None:
    """Watch an agent think: what it sees, does, asks, is told and notes, step by step."""
    from dataclasses import replace

    from afk.envs.registry import make
    from afk.experiments.shelf import find_agent
    from afk.experiments.watch import record_episode, show_episode, write_gif

    env = make(task)
    if gif is not None and gif.suffix != ".gif":
        raise ValueError(f"--gif is a file that ends in .gif, not {gif}")
    found = find_agent(agent, (task,), any_task=any_task)
    recording = record_episode(replace(found.config.play, env=env), found.network, seed=seed)
    show_episode(_console(), recording)
    if gif is not None:
        write_gif(gif, recording)
        print(f"written: {gif}", file=sys.stderr)


@app.command()
def demo(seed: SeedOption = 0) -> None:
    """See a trained agent play and ask, and a small one learn to, in minutes."""
    from afk.demo import show

    show(_console(), seed=seed)


@bench_app.command(name="env")
def bench_env(
    task: Annotated[
        list[str] | None, typer.Option("--task", help="A task's name; may be given again.")
    ] = None,
    environments: Annotated[
        int | None, typer.Option("--envs", min=1, help="Environments in a batch.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each measurement takes.")] = 3.0,
    as_json: JsonOption = False,
) -> None:
    """Steps a second with observations, oracle and auto-reset, and levels drawn a second."""
    from afk import bench
    from afk.envs.registry import find_task, make

    names = task or ["qbabyai/object-in-box", "qbabyai/object-in-box+danger+go-to-favorite+open-door"]
    envs = [make(find_task(name).name) for name in names]
    machine = bench.describe_machine()
    results = []
    for env in envs:
        result = bench.bench_environment(
            env, environments=environments or bench.default_environments(), seconds=seconds
        )
        results.append(result | {"minigrid_steps_per_second": bench.bench_peer(env, seconds=seconds)})
    if as_json:
        print(json.dumps({"machine": machine, "results": results}, indent=2))
        return
    table = Table(
        "task", "envs", "steps/s", "x minigrid", "levels/s", "compile s", "time in view", "GB/s of copy's"
    )
    for result in results:
        peer = result["minigrid_steps_per_second"]
        table.add_row(
            result["task"],
            f"{result['environments']:,}",
            f"{result['steps_per_second']:,.0f}",
            f"{result['steps_per_second'] / peer:,.0f}" if peer else "-",
            f"{result['levels_per_second']:,.0f}",
            f"{result['compile_seconds']:.1f}",
            f"{result['time_saved_without']['view']:.0%}",
            f"{result['bandwidth'] / 1e9:.1f} of {result['copy_bandwidth'] / 1e9:.0f}",
        )
    _console().print(table, machine)
    for result in results:
        _console().print(f"{result['task']}: {bench.explain_bound(result)}")


@bench_app.command(name="train")
def bench_train(
    task: TaskOption = "qbabyai/object-in-box",
    agent: Annotated[str, typer.Option(help="The variant.")] = "afk",
    preset: Annotated[str, typer.Option(help="Sizes and settings: paper, fast or laptop.")] = "fast",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds are trained side by side.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each measurement takes.")] = 5.0,
    as_json: JsonOption = False,
) -> None:
    """Training steps a second, where the time goes, and how much of the device's arithmetic is used."""
    from afk.bench_training import bench_training
    from afk.experiments.config import preset as find_preset

    config = find_preset(preset, [task], agent=agent, seeds=tuple(range(seeds)))
    result = {"preset": preset, **bench_training(config, seconds=seconds)}
    if as_json:
        print(json.dumps(result, indent=2))
        return
    shares = ", ".join(f"{name} {share:.0%}" for name, share in result["share_of_time"].items())
    _console().print(
        f"{result['steps_per_second']:,.0f} steps/s ({seeds} seeds of {config.settings.environments} "
        f"environments; compiled in {result['compile_seconds']:.0f} s)\n"
        f"time: {shares}\n"
        f"{result['operations_per_step'] / 1e6:,.0f} MFLOP a step, "
        f"{result['fraction_of_device_rate']:.1%} of what a matrix product reaches here"
    )


def _count(text: str) -> int:
    """A number such as 500K or 20M."""
    scale = {"K": 10**3, "M": 10**6, "G": 10**9}.get(text[-1:].upper(), 1)
    digits = text[:-1] if scale > 1 else text
    try:
        count = int(float(digits) * scale)
    except ValueError:
        raise ValueError(f"--steps is a number such as 500K or 20M, not {text!r}") from None
    if count < 1:
        raise ValueError(f"--steps is at least 1, not {text!r}")
    return count


def _console() -> Console:
    """Where tables go; wide when nobody watches, so that a pipe gets whole lines."""
    return Console() if sys.stdout.isatty() else Console(width=160)


def _cache_compilations() -> None:
    """Keep compiled programs in the user's cache folder, so that the second start is quick."""
    import jax

    if not os.environ.get("JAX_COMPILATION_CACHE_DIR"):
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "afk" / "jax"
        jax.config.update("jax_compilation_cache_dir", str(folder))


def main() -> None:
    """Run a command; what the user got wrong is one line on the error stream and exit code 2."""
    _cache_compilations()
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
