"""What commands share: options, the console, and how numbers of steps are read."""

import sys
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

if TYPE_CHECKING:
    from afk.envs.asking import Asking

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


SourceOption = Annotated[str, typer.Option("--source", help="Whom it asks; `afk sources` lists the sources.")]
PriceOption = Annotated[
    str | None, typer.Option("--price", help="What a question costs, 0.1, or from and to: 0:0.5.")
]
BudgetOption = Annotated[
    int | None, typer.Option("--question-budget", min=1, help="How many questions an episode has.")
]
LiesOption = Annotated[
    str | None, typer.Option("--lies", help="How likely an answer is false: 0.2, or 0:0.4.")
]
SilenceOption = Annotated[
    str | None, typer.Option("--silence", help="How likely an answer is refused: 0.2, or 0:0.4.")
]
ModeOption = Annotated[
    str,
    typer.Option(
        "--mode",
        help="asking; no-questions: every question is refused (a model cannot ask); or all-told: it has the "
        "answers to all good queries from the start.",
    ),
]


def read_asking(
    source: str,
    price: str | None,
    budget: int | None,
    lies: str | None,
    silence: str | None,
    mode: str = "asking",
) -> "Asking":
    """Whom to ask, and on what terms, as options of the command line say."""
    from afk.envs.asking import Asking
    from afk.knowledge.catalogue import find_source
    from afk.knowledge.traits import SourceSpec

    find_source(source)
    ranges = {"price": price, "lies": lies, "silence": silence}
    fields: dict[str, Any] = {
        name: _read_range(name, text) for name, text in ranges.items() if text is not None
    }
    fields |= {} if budget is None else {"budget": budget}
    return Asking(source, (SourceSpec(**fields),) if fields else (), mode)


def _read_range(name: str, text: str) -> tuple[float, float]:
    """A number, or two with a colon between them."""
    low, _, high = text.partition(":")
    try:
        return float(low), float(high or low)
    except ValueError:
        raise ValueError(f"--{name} is a number such as 0.2, or two such as 0:0.5, not {text!r}") from None
