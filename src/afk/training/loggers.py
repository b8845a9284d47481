"""Where the log of a run goes beside its folder: TensorBoard, and by wish Weights & Biases and MLflow."""

import re
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from afk.training.config import Config, flatten
from afk.training.log import Row
from afk.training.tensorboard import EventLog, scalars

_PROJECT = "afk"
_TAG = "afk.run"  # of a run of MLflow, by which it is found again


class Logger(Protocol):
    """What takes new lines of a log."""

    def write(self, rows: list[Row]) -> None:
        """Take the lines of all seeds at one step."""


class WandbLog:
    """A run of Weights & Biases, which a run that is resumed goes on with."""

    def __init__(self, folder: Path, config: Config, after: int) -> None:
        wandb: Any = import_module("wandb")
        self._run = wandb.init(
            project=_PROJECT,
            name=folder.resolve().name,
            id=_identity(folder, config),
            resume="allow",
            dir=folder,
            config=config.to_json(),
        )

    def write(self, rows: list[Row]) -> None:
        """See `Logger`."""
        self._run.log(_by_seed(rows), step=rows[0]["steps"])


class MlflowLog:
    """A run of MLflow, which a run that is resumed goes on with where MLflow has it."""

    def __init__(self, folder: Path, config: Config, after: int) -> None:
        self._mlflow: Any = import_module("mlflow")
        self._mlflow.set_experiment(_PROJECT)
        identity = _identity(folder, config)
        if after and (run := self._find(identity)):
            self._mlflow.start_run(run_id=run.info.run_id)
            return
        self._mlflow.start_run(run_name=folder.resolve().name, tags={_TAG: identity})
        self._mlflow.log_params(flatten(config.to_json()))

    def _find(self, identity: str) -> Any:
        """The latest run of MLflow with a tag, if there is one."""
        found = self._mlflow.search_runs(
            filter_string=f"tags.`{_TAG}` = '{identity}'",
            order_by=["attributes.start_time DESC"],
            max_results=1,
            output_format="list",
        )
        return found[0] if found else None

    def write(self, rows: list[Row]) -> None:
        """See `Logger`; MLflow takes no ``+`` in names, which those of tasks have."""
        numbers = {name.replace("+", " "): value for name, value in _by_seed(rows).items()}
        self._mlflow.log_metrics(numbers, step=rows[0]["steps"])


LOGGERS: dict[str, Callable[[Path, Config, int], Logger]] = {"wandb": WandbLog, "mlflow": MlflowLog}


def check_loggers(names: Sequence[str]) -> None:
    """A ValueError if one of `LOGGERS` takes a package that is missing."""
    for name in names:
        if find_spec(name) is None:
            raise ValueError(f"--{name} takes the package {name}: pip install {name}")


def open_loggers(folder: Path, config: Config, names: Sequence[str], *, after: int) -> list[Logger]:
    """TensorBoard, and those of `LOGGERS` that are named, to go on after so many steps."""
    return [EventLog(folder, after=after), *(LOGGERS[name](folder, config, after) for name in names)]


def _identity(folder: Path, config: Config) -> str:
    """What others know a run by: what is trained, with which seeds, and the name of its folder."""
    name = re.sub(r"[^\w.-]", "-", folder.resolve().name)
    return f"{config.identity}-{'-'.join(map(str, config.seeds))}-{name}"


def _by_seed(rows: list[Row]) -> dict[str, float]:
    """The numbers of lines by tags such as ``evaluation/success``, after ``seed-24/`` with several seeds."""
    if len(rows) == 1:
        return scalars(rows[0])
    return {f"seed-{row['seed']}/{tag}": value for row in rows for tag, value in scalars(row).items()}
