"""``afk reproduce``."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from afk.cli.options import JsonOption, count_steps, end_with, make_console

if TYPE_CHECKING:
    from afk.report.archive import Archive
    from afk.report.tables import Table
    from afk.training.config import Config


def reproduce(
    items: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ITEM",
            help="table-1, lengths, released, textworld, ablation, last-answer, generalisation, "
            "query-quality, query-histogram, task-statistics, game-statistics, pretrained, headline, curves "
            "or knowledge; without it, all that have records.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", help="The folder of records: results, or those of the package if none is here."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write Markdown, CSV, LaTeX and figures to this folder.")
    ] = None,
    as_json: JsonOption = False,
    run: Annotated[bool, typer.Option("--run", help="Train what has no record yet.")] = False,
    budget: Annotated[
        str | None, typer.Option(help="Steps a seed for --run, such as 5M; otherwise the preset's.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="Settings for --run; otherwise by the device.")] = None,
    agent: Annotated[
        list[str] | None, typer.Option(help="Train this agent only; may be given again.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Train on this task only; may be given again.")
    ] = None,
    seed: Annotated[
        list[int] | None,
        typer.Option(help="A seed for --run; may be given again; otherwise the paper's five."),
    ] = None,
    runs: Annotated[Path, typer.Option(help="Where --run keeps runs, to go on with them.")] = Path(
        "runs/study"
    ),
) -> None:
    """Print the paper's tables and figures from records, beside the published numbers."""
    from afk.report.archive import RECORDS, find_records, read_archive
    from afk.report.items import ITEMS, find_item
    from afk.report.render import to_json
    from afk.studies.plan import plan_items
    from afk.training.presets import default_preset

    chosen = {name: find_item(name) for name in items or ITEMS}
    folder = folder or (RECORDS if run else find_records())  # the package's are for reading
    if run:
        plan = plan_items(
            list(chosen),
            preset=default_preset() if preset is None else preset,
            agents=agent,
            tasks=task,
            seeds=seed,
            steps=None if budget is None else count_steps("--budget", budget),
        )
        failures = _train(plan, runs, folder)
    else:
        failures = []
        options = {"budget": budget, "preset": preset, "agent": agent, "task": task, "seed": seed}
        for name in (name for name, value in options.items() if value is not None and value != []):
            raise ValueError(f"--{name} says what to train: give --run as well")
    if not folder.is_dir():
        end_with(failures)  # nothing has left a record: why that is says more than that there is none
    archive = read_archive(folder)
    for problem in archive.problems:
        print(f"note: {problem}", file=sys.stderr)
    made = {name: make(archive) for name, make in chosen.items()}
    if not items:
        for name in [name for name, tables in made.items() if all(table.is_empty for table in tables)]:
            print(f"note: there are no records for {name}", file=sys.stderr)
            del made[name]
    if as_json:
        shown = {name: [to_json(table) for table in tables] for name, tables in made.items()}
        print(json.dumps({"problems": archive.problems, "items": shown}, indent=2))
    else:
        _show([table for tables in made.values() for table in tables])
    if out is not None:
        _write(out, made, archive)
    end_with(failures)


def _show(tables: "list[Table]") -> None:
    """Print tables: in colour for who watches, as Markdown for a file."""
    from afk.report.render import to_markdown, to_terminal

    console = make_console()
    for table in tables:
        if console.is_terminal:
            console.print(to_terminal(table))
        else:
            print(to_markdown(table))


def _write(folder: Path, made: "dict[str, list[Table]]", archive: "Archive") -> None:
    """Write tables and figures to a folder, and say where they are."""
    from importlib.util import find_spec

    from afk.files import write_file
    from afk.report.figures import FORMATS, encode
    from afk.report.items import DRAWINGS
    from afk.report.render import to_csv, to_latex, to_markdown

    written = 0
    for table in (table for tables in made.values() for table in tables):
        for ending, content in (("md", to_markdown(table)), ("csv", to_csv(table)), ("tex", to_latex(table))):
            write_file(folder / f"{table.name}.{ending}", content.encode())
            written += 1
    drawings = [draw for name, draw in DRAWINGS.items() if name in made]
    if drawings and not find_spec("matplotlib"):
        print("note: figures take matplotlib: pip install 'afk-rl[report]'", file=sys.stderr)
        drawings = []
    for draw in drawings:
        for name, figure in draw(archive).items():
            for kind in FORMATS:
                write_file(folder / f"{name}.{kind}", encode(figure, kind))
                written += 1
    print(f"written: {written} files in {folder}", file=sys.stderr)


def _train(plan: "list[Config]", runs: Path, folder: Path) -> list[str]:
    """Train what has no record yet, with a view of how far all are; returns what could not be trained."""
    from afk.report.archive import RUNS
    from afk.studies.study import FRESH_LEVELS, do_study, overview

    console, records = Console(stderr=True), folder / RUNS
    console.print(overview(plan, runs=runs, records=records))
    try:
        return do_study(plan, runs=runs, records=records, console=console, levels=FRESH_LEVELS)
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        raise typer.Exit(130) from None
