"""``afk bench``."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Column, Table

from afk.cli.options import MOST, JsonOption, TaskOption, make_console, with_imports

app = typer.Typer(help="Measure speed.", no_args_is_help=True)


@app.command(name="env")
@with_imports
def bench_env(
    task: Annotated[
        list[str] | None, typer.Option("--task", help="A task's name or letters; may be given again.")
    ] = None,
    environments: Annotated[
        int | None, typer.Option("--envs", min=1, max=MOST, help="Environments in a batch.")
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each measurement takes.")] = 3.0,
    as_json: JsonOption = False,
) -> None:
    """Steps a second with observations, oracle and auto-reset, and levels drawn a second."""
    from afk.bench import environments as bench
    from afk.envs.registry import make
    from afk.training.machine import describe_machine

    envs = [make(name) for name in task or bench.default_tasks()]
    machine = describe_machine()
    results = []
    for env in envs:
        result = bench.bench_environment(
            env, environments=environments or bench.default_environments(), seconds=seconds
        )
        results.append(result | bench.bench_peer(env, seconds=seconds))
    if as_json:
        print(json.dumps({"machine": machine, "results": results}, indent=2))
        return
    table = Table(
        Column("task", overflow="fold"),
        *("envs", "steps/s", "against", "levels/s", "against", "compile s", "most time in"),
        "GB/s of copy's",
    )
    for result in results:
        part, share = bench.largest_part(result)
        table.add_row(
            result["task"],
            f"{result['environments']:,}",
            f"{result['steps_per_second']:,.0f}",
            bench.times_peer(result, "steps"),
            f"{result['levels_per_second']:,.0f}",
            bench.times_peer(result, "levels"),
            f"{result['compile_seconds']:.1f}",
            f"{part}, {share:.0%}",
            f"{result['bandwidth'] / 1e9:.1f} of {result['copy_bandwidth'] / 1e9:.0f}",
        )
    make_console().print(table, machine)
    for result in results:
        make_console().print(f"{result['task']}: {bench.explain_bound(result)}")


@app.command(name="sources")
@with_imports
def bench_sources(
    task: Annotated[
        list[str] | None, typer.Option("--task", help="A task's name or letters; may be given again.")
    ] = None,
    environments: Annotated[
        int, typer.Option("--envs", min=1, max=MOST, help="Environments in a batch.")
    ] = 4096,
    rounds: Annotated[int, typer.Option(min=1, max=10_000, help="How often all take turns.")] = 30,
    as_json: JsonOption = False,
) -> None:
    """How much longer a step takes where sources have traits: the oracle, one source and eight, in turn."""
    from afk.bench import sources as bench
    from afk.training.machine import describe_machine

    names = task or [bench.DEFAULT_TASK]
    found = [bench.bench_sources(name, environments=environments, rounds=rounds) for name in names]
    rows, machine = [row for rows in found for row in rows], describe_machine()
    if as_json:
        print(json.dumps({"machine": machine, "rows": rows}, indent=2))
        return
    columns = "sources", "steps/s", "longer by", "half of rounds", "goal"
    table = Table(Column("task", overflow="fold"), *columns)
    for row in rows:
        low, high = row["cost_quartiles"]
        goal = "-" if row["goal"] is None else f"{row['goal']:.0%}"
        longer = f"{row['cost']:.1%}", f"{low:.1%} to {high:.1%}"
        table.add_row(row["task"], row["sources"], f"{row['steps_per_second']:,.0f}", *longer, goal)
    make_console().print(table, machine)


@app.command(name="train")
@with_imports
def bench_train(
    task: TaskOption = "qbabyai/object-in-box",
    agent: Annotated[str, typer.Option(help="The variant.")] = "afk",
    preset: Annotated[str, typer.Option(help="Sizes and settings, as for training.")] = "fast",
    seeds: Annotated[int, typer.Option(min=1, help="How many seeds are trained side by side.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each measurement takes.")] = 5.0,
    as_json: JsonOption = False,
) -> None:
    """Training steps a second, where the time goes, and how much of the device's arithmetic is used."""
    from afk.bench.training import bench_training
    from afk.training.presets import preset as find_preset

    config = find_preset(preset, [task], agent=agent, seeds=tuple(range(seeds)))
    result = {"preset": preset, **bench_training(config, seconds=seconds)}
    if as_json:
        print(json.dumps(result, indent=2))
        return
    shares = ", ".join(f"{name} {share:.0%}" for name, share in result["share_of_time"].items())
    arithmetic = "arithmetic is not counted: let JAX have the CPU, too, as JAX_PLATFORMS=cuda,cpu does"
    if operations := result["operations_per_step"]:
        share = result["fraction_of_device_rate"]
        arithmetic = (
            f"{operations / 1e6:,.0f} MFLOP a step, {share:.1%} of what a matrix product reaches here"
        )
    make_console().print(
        f"{result['steps_per_second']:,.0f} steps/s ({seeds} seeds of {config.settings.environments} "
        f"environments; compiled in {result['compile_seconds']:.0f} s)\n"
        f"time: {shares}\n{arithmetic}"
    )


@app.command(name="start")
@with_imports
def bench_start(
    what: Annotated[
        list[str] | None,
        typer.Option("--what", help="watch, view, eval, demo or train; may be given again."),
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings of training; otherwise by the device.")] = None,
    before: Annotated[
        Path | None, typer.Option(help="The src folder of another version, measured in turn.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=0, max=100, help="How often each is measured warm.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """How long one waits for the first line, with nothing compiled and with all that can be kept."""
    from afk.bench import start

    names = what or [*start.ERRANDS]
    if unknown := [name for name in names if name not in start.ERRANDS]:
        raise ValueError(f"--what is one of {', '.join(start.ERRANDS)}, not {unknown[0]}")
    if before is not None and not (before / "afk" / "__main__.py").is_file():
        raise ValueError(f"--before is the src folder of a version of afk, which {before} is not")
    record = start.bench_start(
        names,
        preset=preset,
        before=before,
        rounds=rounds,
        say=lambda line: print(line, file=sys.stderr),
    )
    if as_json:
        print(json.dumps(record, indent=2))
        return
    columns = "code", "cache", "seconds", "CPU s", "programs", "tracing", "lowering", "compiling"
    table = Table(Column("what", overflow="fold"), *columns)
    for wait in record["waits"]:
        figures = [wait[name] for name in ("seconds", "cpu_seconds")]
        phases = [wait[f"{name}_seconds"] for name in ("tracing", "lowering", "compiling")]
        row = (
            [f"{each:.1f}" for each in figures] + [str(wait["programs"])] + [f"{each:.1f}" for each in phases]
        )
        table.add_row(wait["title"], wait["code"], wait["cache"], *row)
    make_console().print(table, record["machine"])


@app.command(name="all")
@with_imports
def bench_everything(
    task: Annotated[
        list[str] | None, typer.Option("--task", help="A task's name or letters; may be given again.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings of training; otherwise by the device.")] = None,
    agent: Annotated[str, typer.Option(help="The variant.")] = "afk",
    environments: Annotated[
        list[int] | None,
        typer.Option(
            "--envs", min=1, max=MOST, help="A batch size for worlds without an agent; may be given again."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0.1, help="How long each measurement takes; otherwise 2, or 0.2.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer tasks and sizes, and less time.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw it all to this file, a .png.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Worlds, rollouts, training and evaluation by task and batch size, beside their peers."""
    from afk.bench import environments as bench
    from afk.bench.suite import Scope, bench_all
    from afk.training.presets import default_preset

    if plot is not None:
        _check_plot(plot)
    most = bench.default_environments()
    sizes = environments or ([most // 16, most] if quick else [most // 4**power for power in (3, 2, 1, 0)])
    scope = Scope(
        tasks=tuple(task or bench.default_tasks()[:: 2 if quick else 1]),
        preset=preset or default_preset(),
        agent=agent,
        environments=tuple(sorted(set(sizes))),
        shares=(1,) if quick else (0.25, 1, 4),
        episodes=(100,) if quick else (100, 500),
        seconds=seconds or (0.2 if quick else 2.0),
    )
    record = bench_all(scope, lambda line: print(line, file=sys.stderr))
    if plot is not None:
        from afk.bench.figure import draw_speed
        from afk.files import write_file
        from afk.report.figures import encode

        write_file(plot, encode(draw_speed(record), "png"))
        print(f"written: {plot}", file=sys.stderr)
    if as_json:
        print(json.dumps(record, indent=2))
    else:
        _show_all(record)


def _check_plot(path: Path) -> None:
    """Refuse a picture that could not be drawn, before anything is measured."""
    from importlib.util import find_spec

    if path.suffix != ".png":
        raise ValueError(f"--plot is a file that ends in .png, not {path}")
    if not find_spec("matplotlib"):
        raise ValueError("a plot takes matplotlib: pip install 'afk-rl[report]'")


def _show_all(record: dict[str, Any]) -> None:
    """A table for each kind of measurement."""
    from afk.bench.environments import times_peer
    from afk.bench.suite import published_speed

    worlds = Table(Column("task", overflow="fold"), "envs", "steps/s", "against", "levels/s", title="worlds")
    for each in record["environments"]:
        for point in each["scaling"]:
            faster = times_peer(each | point, "steps")
            row = f"{point['environments']:,}", f"{point['steps_per_second']:,.0f}", faster
            worlds.add_row(each["task"], *row, f"{each['levels_per_second']:,.0f}")
    training = Table("task", "envs", "rollout steps/s", "training steps/s", "paper's", title="training")
    for each in record["training"]:
        speeds = [f"{each[name]:,.0f}" for name in ("rollout_steps_per_second", "steps_per_second")]
        training.add_row(each["task"], f"{each['environments']:,}", *speeds, published_speed(each["task"]))
    evaluation = Table("task", "episodes at once", "episodes/s", "steps/s", title="evaluation")
    for each in record["evaluation"]:
        speeds = [f"{each[name]:,.0f}" for name in ("episodes_per_second", "steps_per_second")]
        evaluation.add_row(each["task"], str(each["episodes"]), *speeds)
    make_console().print(worlds, training, evaluation, record["machine"])
