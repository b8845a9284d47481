"""``afk view``."""

import os
import sys
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from afk.cli.options import (
    BudgetOption,
    LiesOption,
    ModeOption,
    PriceOption,
    SilenceOption,
    SourceOption,
    read_asking,
)


def view(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 8010,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="Open with the agent of this run or checkpoint; otherwise with a pretrained one."),
    ] = None,
    runs: Annotated[Path, typer.Option(help="The folder of runs whose agents can be chosen.")] = Path("runs"),
    host: Annotated[
        str, typer.Option(help="Where to listen; this machine alone can reach the default.")
    ] = "127.0.0.1",
    source: SourceOption = "oracle",
    price: PriceOption = None,
    question_budget: BudgetOption = None,
    lies: LiesOption = None,
    silence: SilenceOption = None,
    mode: ModeOption = "asking",
) -> None:
    """Play any task and watch any agent in the browser, whoever is asked."""
    for name in ("starlette", "uvicorn"):
        if find_spec(name) is None:
            raise ValueError(f"{name} is missing; for the viewer: pip install 'afk-rl[view]'")
    from afk.view.library import Library
    from afk.view.server import LOOPBACK, serve

    library = Library(runs, checkpoint, read_asking(source, price, question_budget, lies, silence, mode))
    for name, reason in library.left_out().items():
        print(f"note: {name} is left out: {reason}", file=sys.stderr)

    def announce(address: str) -> None:
        if host not in LOOPBACK:
            print(f"note: whoever can reach {host} can use this viewer", file=sys.stderr)
        print(f"{address} shows it; Ctrl-C ends", flush=True)

    with suppress(KeyboardInterrupt):
        serve(library, host=host, port=port, announce=announce)
    # Threads may still compile: waiting for them takes long, and there is nothing to save.
    os._exit(130)
