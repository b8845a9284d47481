"""``afk sweep``."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from afk.cli.options import count_steps, end_with


def sweep(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY", help="An item of `afk reproduce`, such as table-1; or a JSON file of tasks."
        ),
    ],
    ray: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The cluster: local (this machine), auto or HOST:PORT.")
    ],
    folder: Annotated[Path, typer.Option("--runs", help="Where runs are kept; all machines see it.")] = Path(
        "runs/sweep"
    ),
    results: Annotated[Path, typer.Option("--from", help="The folder of records.")] = Path("results"),
    cpus: Annotated[float, typer.Option(help="Cores for the run of a seed.")] = 1.0,
    gpus: Annotated[float, typer.Option(help="GPUs for the run of a seed, or a part of one.")] = 0.0,
    devices: Annotated[
        int | None, typer.Option(min=1, help="Devices a run is spread over; otherwise all that it is given.")
    ] = None,
    retries: Annotated[
        int, typer.Option(min=0, help="How often a run is taken up again when its worker is lost.")
    ] = 10,
    preset: Annotated[
        str | None, typer.Option(help="Settings; otherwise the file's, or fast with GPUs and laptop without.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Steps a seed for an item, such as 5M; otherwise the preset's.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Of an item, this agent only; may be given again.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Of an item, this task only; may be given again.")
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(help="A seed for an item; may be given again; otherwise the paper's five."),
    ] = None,
) -> None:
    """Train all runs of a study on a Ray cluster, every seed on its own, and gather their records."""
    import jax

    from afk.report.archive import RUNS
    from afk.studies.cluster import Resources, check_ray
    from afk.studies.plan import plan_items, read_study
    from afk.studies.study import FRESH_LEVELS, overview
    from afk.studies.sweep import do_sweep

    # This process trains nothing: the accelerators of its machine are left to the workers.
    jax.config.update("jax_platforms", "cpu")
    resources = Resources(cpus, gpus, devices, retries)
    check_ray(ray)
    settings = ("fast" if gpus else "laptop") if preset is None else preset
    if study.endswith(".json"):
        options = {"budget": budget, "agent": agent, "task": task, "seed": seed}
        for name in (name for name, value in options.items() if value is not None and value != []):
            raise ValueError(f"{study} says what to train: leave out --{name}")
        plan = read_study(Path(study), preset=settings)
    else:
        steps = None if budget is None else count_steps("--budget", budget)
        plan = plan_items([study], preset=settings, agents=agent, tasks=task, seeds=seed, steps=steps)
    where, console = {"runs": folder.resolve(), "records": (results / RUNS).resolve()}, Console(stderr=True)
    try:
        failures = do_sweep(
            plan, **where, address=ray, resources=resources, levels=FRESH_LEVELS, console=console
        )
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
    console.print(overview(plan, **where))
    end_with(failures)
