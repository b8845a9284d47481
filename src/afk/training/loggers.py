"""Where the log of a run goes beside its folder: TensorBoard, and by wish Weights & Biases and MLflow."""

from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from afk.training.config import Config, flatten
from afk.training.log import Row
from afk.training.tensorboard import EventLog, scalars

_PROJECT = "afk"


class Logger(Protocol):
    """What takes new lines of a log."""

    def write(self, rows: list[Row]) -> None:
        """Take the lines of all seeds at one step."""


class WandbLog:
    """A run of Weights & Biases, which a run that is resumed goes on with."""

    def __init__(self, folder: Path, config: Config) -> None:
        wandb: Any = import_module("wandb")
        name = folder.resolve().name
        identity = f"{config.identity}-{'-'.join(map(str, config.seeds))}-{name}"
        self._run = wandb.init(
            project=_PROJECT, name=name, id=identity, resume="allow", dir=folder, config=config.to_json()
        )

    def write(self, rows: list[Row]) -> None:
        """See `Logger`."""
        self._run.log(_by_seed(rows), step=rows[0]["steps"])


class MlflowLog:
    """A run of MLflow; each time that training is taken up there is a new one."""

    def __init__(self, folder: Path, config: Config) -> None:
        self._mlflow: Any = import_module("mlflow")
        self._mlflow.set_experiment(_PROJECT)
        self._mlflow.start_run(run_name=folder.resolve().name)
        self._mlflow.log_params(flatten(config.to_json()))

    def write(self, rows: list[Row]) -> None:
        """See `Logger`; MLflow takes no ``+`` in names, which those of tasks have."""
        numbers = {name.replace("+", " "): value for name, value in _by_seed(rows).items()}
        self._mlflow.log_metrics(numbers, step=rows[0]["steps"])


LOGGERS: dict[str, Callable[[Path, Config], Logger]] = {"wandb": WandbLog, "mlflow": MlflowLog}


def check_loggers(names: Sequence[str]) -> None:
    """A ValueError if one of `LOGGERS` takes a package that is missing."""
    for name in names:
        if find_spec(name) is None:
            raise ValueError(f"--{name} takes the package {name}: pip install {name}")


def open_loggers(folder: Path, config: Config, names: Sequence[str], *, after: int) -> list[Logger]:
    """TensorBoard, and those of `LOGGERS` that are named, to go on after so many steps."""
    return [EventLog(folder, after=after), *(LOGGERS[name](folder, config) for name in names)]


def _by_seed(rows: list[Row]) -> dict[str, float]:
    """The numbers of lines by tags such as ``evaluation/success``, after ``seed-24/`` with several seeds."""
    if len(rows) == 1:
        return scalars(rows[0])
    return {f"seed-{row['seed']}/{tag}": value for row in rows for tag, value in scalars(row).items()}
