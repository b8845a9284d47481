"""What commands share: options, the console, and how numbers of steps are read."""

import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Annotated, Any

import typer
from rich.console import Console

MOST = 2**24  # episodes, levels or environments that can be asked for; no machine holds more
AgentArgument = Annotated[
    str,
    typer.Argument(
        help="Who plays: expert, random, pretrained (it comes with afk), a run's folder, a checkpoint, or "
        "openai:MODEL, a language model behind --base-url."
    ),
]
AnyTaskOption = Annotated[
    bool, typer.Option("--any-task", help="Let an agent play a task it was not trained on.")
]
TaskOption = Annotated[str, typer.Option("--task", help="A task's name or letters; `afk tasks` lists them.")]
OwnTaskOption = Annotated[
    str | None,
    typer.Option("--task", help="A task's name or letters.", show_default="what a run was trained on"),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
SeedOption = Annotated[
    int, typer.Option("--seed", min=0, max=2**32 - 1, help="What the levels are drawn with.")
]

ImportOption = Annotated[
    list[str] | None,
    typer.Option(
        "--import",
        metavar="MODULE",
        help="A module of yours that registers tasks, agents or algorithms; may be given again.",
    ),
]


def with_imports(command: Callable[..., None]) -> Callable[..., None]:
    """The command with `ImportOption`: modules are imported before it does anything."""

    @wraps(command)
    def run(*arguments: Any, modules: list[str] | None = None, **options: Any) -> None:
        from afk.plugins import add_modules

        add_modules(modules or [])
        command(*arguments, **options)

    own = signature(command, eval_str=True)
    option = Parameter("modules", Parameter.KEYWORD_ONLY, default=None, annotation=ImportOption)
    parameters = [*own.parameters.values(), option]
    run.__signature__ = own.replace(parameters=parameters)  # pyright: ignore[reportAttributeAccessIssue]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def make_console() -> Console:
    """Where tables go; wide when nobody watches, so that a pipe gets whole lines."""
    return Console() if sys.stdout.isatty() else Console(width=160)


def end_with(failures: list[str]) -> None:
    """Say what could not be trained, and end with 1 if there was something."""
    for failure in failures:
        print(f"error: not trained: {failure}", file=sys.stderr)
    if failures:
        raise typer.Exit(1)


def count_steps(option: str, text: str, *, what: str = "steps") -> int:
    """The number of steps, or of what else, that an option of the command line says, such as 500K or 20M."""
    scale = {"K": 10**3, "M": 10**6, "G": 10**9}.get(text[-1:].upper(), 1)
    try:
        steps = int(float(text[:-1] if scale > 1 else text) * scale)
    except (ValueError, OverflowError):
        steps = 0
    if steps < 1:
        raise ValueError(f"{option} is a number of {what} such as 500K or 20M, not {text!r}")
    return steps
