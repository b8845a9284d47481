"""``afk eval``."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from afk.cli.options import (
    MOST,
    AgentArgument,
    AnyTaskOption,
    BudgetOption,
    JsonOption,
    LiesOption,
    ModeOption,
    OwnTaskOption,
    PriceOption,
    SeedOption,
    SilenceOption,
    SourceOption,
    count_steps,
    make_console,
    read_asking,
)

MODEL = "openai:"  # what the name of a language model begins with
OPENAI = "https://api.openai.com/v1"


def evaluate(
    agent: AgentArgument,
    task: OwnTaskOption = None,
    episodes: Annotated[int, typer.Option(min=1, max=MOST, help="How many fresh levels are played.")] = 500,
    seed: SeedOption = 0,
    any_task: AnyTaskOption = False,
    source: SourceOption = "oracle",
    price: PriceOption = None,
    question_budget: BudgetOption = None,
    lies: LiesOption = None,
    silence: SilenceOption = None,
    mode: ModeOption = "asking",
    as_json: JsonOption = False,
    base_url: Annotated[str, typer.Option(help="Of a model: where it is served, with /v1.")] = OPENAI,
    macros: Annotated[bool, typer.Option(help="Of a model: macros such as `go to the grey ball`.")] = False,
    plain: Annotated[bool, typer.Option(help="Of a model: plain text instead of tool calls.")] = False,
    at_once: Annotated[int, typer.Option(help="Of a model: how many levels are played at once.")] = 4,
    budget: Annotated[
        str | None, typer.Option(help="Of a model: the most tokens it may take, such as 2M.")
    ] = None,
    history: Annotated[
        int, typer.Option(help="Of a model: turns it sees again, beside questions; 0 is all.")
    ] = 0,
    max_tokens: Annotated[int, typer.Option(help="Of a model: the most tokens of a reply.")] = 512,
    temperature: Annotated[
        float | None, typer.Option(min=0, help="Of a model: what replies are drawn with.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Of a model: the folder of its transcripts; else in runs/models.")
    ] = None,
) -> None:
    """Play fresh levels of a task and print the paper's measures; of a model, what it costs as well."""
    from afk.envs.registry import task_named
    from afk.training.pretrained import own_task

    task = own_task(agent) if task is None else task_named(task)
    asking = read_asking(source, price, question_budget, lies, silence, mode)
    if agent.startswith(MODEL):
        if asking.sources:
            raise ValueError(
                "a language model asks for nothing and is told the truth: leave out --price, "
                "--question-budget, --lies and --silence"
            )
        from afk.play.client import Endpoint
        from afk.play.evaluation import Settings, evaluate_model

        name = agent.removeprefix(MODEL)
        form = {"mode": mode, "macros": macros, "tools": not plain, "history": history, "source": source}
        replies = {"max_tokens": max_tokens, "temperature": temperature}
        settings = Settings(name, task, episodes, seed, **form, **replies)
        summary = evaluate_model(
            settings,
            Endpoint(base_url, name, **replies),
            out or settings.folder,
            at_once=at_once,
            budget=None if budget is None else count_steps("--budget", budget, what="tokens"),
            console=Console(stderr=True),
        )
        summary.pop("won")
        _print(summary, as_json=as_json)
        return
    from rich.progress import track

    from afk.training.evaluate import summarise
    from afk.training.pretrained import play_fresh

    summary, chunks = play_fresh(
        agent,
        task,
        episodes=episodes,
        seed=seed,
        any_task=any_task,
        asking=asking,
    )
    chunks = track(chunks, f"{agent} on {task}", console=Console(stderr=True), transient=True, total=None)
    _print(summary | summarise(chunks), as_json=as_json)


def _print(summary: dict[str, Any], *, as_json: bool) -> None:
    """Print measures as a table, or as JSON."""
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
