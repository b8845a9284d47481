"""``afk train``."""

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from afk.cli.options import (
    MOST,
    BudgetOption,
    LiesOption,
    PriceOption,
    SilenceOption,
    SourceOption,
    count_steps,
    read_asking,
)

if TYPE_CHECKING:
    from afk.training.config import Config


def train(
    tasks: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to train on, names or letters; `afk tasks` lists them. Repeat one to weight it."
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option(help="The variant: afk, query, no-query, afk-plus, ...", show_default="afk")
    ] = None,
    algorithm: Annotated[
        str | None,
        typer.Option(help="Another algorithm, with its own settings; the preset says the rest."),
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
    bonus: Annotated[
        float | None,
        typer.Option(
            help="beta, the episodic bonus for an answer that grows the notes related to the instruction."
        ),
    ] = None,
    bonus_until: Annotated[
        float | None, typer.Option(help="The part of training after which the bonus falls to zero.")
    ] = None,
    potential_based_bonus: Annotated[
        bool | None,
        typer.Option("--potential-based-bonus", help="Pay the bonus as potential-based shaping."),
    ] = None,
    random_start_fraction: Annotated[
        float | None, typer.Option(help="The fraction of training levels that start at a random state.")
    ] = None,
    hint_fraction: Annotated[
        float | None, typer.Option(help="The fraction of training levels that start with some answers known.")
    ] = None,
    n_gram: Annotated[
        int | None,
        typer.Option(help="Which n-grams relate two notes, 1 or 2.", show_default="the preset's"),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="How similar related notes are.")] = None,
    source: SourceOption = "oracle",
    price: PriceOption = None,
    question_budget: BudgetOption = None,
    lies: LiesOption = None,
    silence: SilenceOption = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Another number of a run's config.json: settings.entropy_coef=0.03; may be given again.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="Values as in a run's config.json; the preset says the rest, and options override.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option("--from", help="An agent to begin with: pretrained, a run's folder, or a checkpoint."),
    ] = None,
    devices: Annotated[int | None, typer.Option(help="How many devices to use.", show_default="all")] = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the run.", show_default="runs/last")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with the run of this folder, as it is.")] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="With --resume: begin anew; its log and its agents are lost.")
    ] = False,
    wandb: Annotated[bool, typer.Option("--wandb", help="Log to Weights & Biases, too.")] = False,
    mlflow: Annotated[bool, typer.Option("--mlflow", help="Log to MLflow, too.")] = False,
    levels: Annotated[
        int,
        typer.Option(min=1, max=MOST, help="Fresh levels that each agent plays in the end, for the record."),
    ] = 1000,
    print_config: Annotated[
        bool, typer.Option("--print-config", help="Print the run as JSON, and train nothing.")
    ] = False,
) -> None:
    """Train an agent, or go on training one; the run leaves a record."""
    from afk.studies.study import finish_run
    from afk.training.checkpoint import digest
    from afk.training.config import read_config
    from afk.training.keeping import forget_training, free_if_untrained
    from afk.training.lock import lock
    from afk.training.loggers import check_loggers
    from afk.training.pretrained import agent_to_begin_with
    from afk.training.progress import say_what_next
    from afk.training.trainer import check_start, start_run

    options = {
        "preset": preset,
        "out": out,
        "agent": agent,
        "algorithm": algorithm,
        "seeds": tuple(seed) if seed else None,
    }
    options |= {
        "steps": None if steps is None else count_steps("--steps", steps),
        "bonus": bonus,
        "bonus_until": bonus_until,
        "potential_based_bonus": potential_based_bonus,
    }
    options |= {
        "random_start_fraction": random_start_fraction,
        "hint_fraction": hint_fraction,
        "n_gram": n_gram,
        "alpha": alpha,
        "from": start,
    }
    asking = read_asking(source, price, question_budget, lies, silence)
    options |= {"sources": asking.sources or None, "source": None if source == "oracle" else source}
    options["set"] = dict(map(_read_change, changes)) if changes else None
    given = {name: value for name, value in options.items() if value is not None}
    if file is not None:
        given["config"] = _read_values(file)
        tasks = tasks or given["config"].get("tasks")
    if bool(tasks) == (resume is not None):
        raise ValueError("say either tasks to train on, or --resume and the folder of a run")
    if restart and resume is None:
        raise ValueError("--restart takes --resume and the folder of a run")
    if resume is not None and given:
        raise ValueError(f"--resume goes on with a run as it is: leave out {', '.join(given)}")
    loggers = [name for name, wanted in (("wandb", wandb), ("mlflow", mlflow)) if wanted]
    check_loggers(loggers)
    folder = resume or out or Path("runs/last")
    # What cannot be trained is refused before anything is written there.
    config = _configure(tasks, given, devices) if tasks else read_config(folder)
    first = None if start is None else agent_to_begin_with(start, config)
    if print_config:
        if first is not None:
            config = replace(config, initial_agent=digest(first))
        print(json.dumps({"identity": config.identity} | config.to_json(), indent=2))
        return
    if tasks:
        check_start(config, folder, first)
    console = Console(stderr=True)
    with lock(folder):
        if tasks:
            start_run(config, folder, first)
        if restart:
            forget_training(folder)
        try:
            with free_if_untrained(folder, new=bool(tasks)):
                finish_run(folder, console, levels=levels, devices=devices, loggers=loggers)
        except KeyboardInterrupt:
            say_what_next(folder, console, finished=False)
            raise typer.Exit(130) from None
    say_what_next(folder, console, finished=True)


def _configure(tasks: list[str], given: dict[str, Any], devices: int | None) -> "Config":
    """The run that the command line asks for; a ValueError if there is none such."""
    from afk.learning.algorithm import algorithm_of, find_algorithm
    from afk.training.build import mesh_of
    from afk.training.changes import change, merge
    from afk.training.presets import default_preset
    from afk.training.presets import preset as find_preset

    content: dict[str, Any] = given.get("config", {})
    given = {key: content[key] for key in ("preset", "agent") if content.get(key)} | given
    name = given["preset"] if "preset" in given else default_preset()
    named = (
        "agent",
        "seeds",
        "steps",
        "random_start_fraction",
        "hint_fraction",
        "n_gram",
        "alpha",
        "sources",
        "source",
    )
    fields = {key: given[key] for key in named if key in given}
    if "algorithm" in given:
        fields["settings"] = find_algorithm(given["algorithm"]).settings()
    config = find_preset(name, tasks, **fields)
    overridden = {*fields, "tasks"}
    config = merge(
        config, {key: value for key, value in content.items() if key.partition(".")[0] not in overridden}
    )
    changes = {key: given[key] for key in ("bonus", "bonus_until", "potential_based_bonus") if key in given}
    unknown = [key for key in changes if not hasattr(config.settings, key)]
    if unknown:
        algorithm = algorithm_of(config.settings).name.upper()
        raise ValueError(f"preset {name} trains with {algorithm}, which has no {unknown[0]}")
    _refuse_idle(given, config.agent)
    config = change(replace(config, settings=replace(config.settings, **changes)), given.get("set", {}))
    mesh_of(config, devices)
    return config


def _read_change(text: str) -> tuple[str, Any]:
    """The name and the value of ``NAME=VALUE``."""
    from afk.files import parse_json

    name, _, value = text.partition("=")
    try:
        return name, parse_json(value)
    except ValueError as error:
        raise ValueError(f"--set takes NAME=VALUE with a number, or true or false, not {text!r}") from error


def _read_values(path: Path) -> dict[str, Any]:
    """What a file of values says; what only labels a run that was printed does not count."""
    from afk.files import read_object

    content = read_object(path)
    wrong = [name for name in ("tasks", "seeds") if not isinstance(content.get(name, []), list)]
    wrong += [name for name in ("size", "settings") if not isinstance(content.get(name, {}), dict)]
    if wrong:
        raise ValueError(f"{path}: {wrong[0]} has another form in the config.json of a run")
    return {name: value for name, value in content.items() if name not in ("identity", "initial_agent")}


def _refuse_idle(given: dict[str, Any], agent: str) -> None:
    """Refuse options that are about something that the agent does not have."""
    from afk.agents.variants import find_variant

    variant = find_variant(agent)
    about = {
        "bonus": ("bonus", "bonus_until", "potential_based_bonus"),
        "notebook": ("hint_fraction", "n_gram", "alpha"),
    }
    for part, names in about.items():
        idle = [name for name in names if name in given and not getattr(variant, part)]
        if idle:
            raise ValueError(f"{agent} has no {part}: leave out --{idle[0].replace('_', '-')}")
