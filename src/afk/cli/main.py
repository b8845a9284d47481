"""The ``afk`` command: its subcommands, and how what the user got wrong is said."""

import os
import sys
from typing import Annotated, NoReturn

import typer

from afk import __version__
from afk.cli import bench, textworld
from afk.cli.demo import demo
from afk.cli.evaluate import evaluate
from afk.cli.export import export
from afk.cli.interrupts import leave_at_once
from afk.cli.leaderboard import leaderboard
from afk.cli.mcp import mcp
from afk.cli.options import with_imports
from afk.cli.play import play
from afk.cli.presets import config, presets
from afk.cli.reproduce import reproduce
from afk.cli.sources import sources
from afk.cli.sweep import sweep
from afk.cli.tasks import tasks
from afk.cli.train import train
from afk.cli.view import view
from afk.cli.watch import watch
from afk.files import keep_compiled_programs

app = typer.Typer(
    help="Agents that ask: queryable environments, and agents that learn when and what to ask.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
COMMANDS = (
    tasks,
    sources,
    play,
    train,
    presets,
    config,
    watch,
    leaderboard,
    export,
    mcp,
    demo,
    reproduce,
    view,
    sweep,
)
for command in COMMANDS:
    app.command()(with_imports(command))
app.command(name="eval")(with_imports(evaluate))
app.add_typer(bench.app, name="bench")
app.add_typer(textworld.app, name="textworld")


def _show_version(wanted: bool) -> None:
    """Print it, and leave."""
    if wanted:
        print(f"afk {__version__}")
        raise typer.Exit


@app.callback()
def start(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Before any subcommand, but not before `afk --help`: this imports JAX, which takes a second."""
    del version
    with leave_at_once():
        keep_compiled_programs()


def main() -> None:
    """Run a command; what the user got wrong is one line on the error stream and exit code 2."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()  # what cannot be written is said here, not as the process ends
        sys.exit(code)
    except ValueError as error:
        _fail(str(error))
    except BrokenPipeError:
        _drop_output()
        sys.exit(1)
    except OSError as error:
        _drop_output()
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)
    except Exception as error:
        # A usage error of the command line; where its class lives depends on typer's version.
        explain = getattr(error, "format_message", None)
        if explain is None:
            raise
        if not (message := explain()):  # what was wanted is help, which is printed
            sys.exit(2)
        _fail(message)


def _drop_output() -> None:
    """Print what is still to be printed, or, where that cannot be, nothing of it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str) -> NoReturn:
    print(f"error: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(2)
