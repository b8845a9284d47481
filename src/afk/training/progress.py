"""A run as one watches it: a bar with what matters."""

import math
import shlex
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from afk.plugins import named_modules
from afk.training.config import read_config
from afk.training.keeping import other_code
from afk.training.log import Row, final_evaluation, read_log
from afk.training.trainer import train

_PLAIN_SECONDS = 30.0  # between two lines where there is no terminal
_LOOK_BACK = 3600.0  # seconds from which the time left is estimated: a line of the log may take minutes


def train_with_bar(
    folder: Path,
    console: Console,
    *,
    devices: int | None = None,
    until: float | None = None,
    loggers: Sequence[str] = (),
) -> bool:
    """Train the run of a folder under a progress bar; without a terminal, with a line now and then.

    At Ctrl-C it goes on to the next line of the log, and is saved; at the second one it stops dead.

    Args:
        folder: of the run.
        console: where the bar is.
        devices: how many to use; all there are if not given.
        until: the success in an evaluation at which it stops before the end.
        loggers: where its log goes beside its folder; see `afk.training.loggers`.

    Returns:
        Whether it was trained as long as it should be and nobody pressed Ctrl-C, be it at the very end: who
        has more to do is not to begin with it.
    """
    config = read_config(folder)
    total = config.updates * config.settings.steps_per_update
    seeds = ", ".join(map(str, config.seeds))
    _say(console, f"{config.agent} on {' + '.join(config.tasks)}, seed {seeds}")
    if difference := other_code(folder):
        _say(console, f"note: the state is of other code ({difference}); parameters may come out otherwise")
    columns = (BarColumn(10), TextColumn("{task.fields[measures]}"), TimeRemainingColumn(compact=True))
    bar = Progress(
        *columns, console=console, speed_estimate_period=_LOOK_BACK, disable=not console.is_terminal
    )
    said = -math.inf
    with bar, _catch_interrupt(console) as interrupted:
        task = bar.add_task("", total=total, measures="compiling")
        # Closed here: where training stands is saved then, which may fail and must be heard of.
        training = train(folder, devices=devices, loggers=loggers, say=partial(_say, console))
        with closing(training) as chunks:
            for rows in chunks:
                is_last = rows[0]["updates"] >= config.updates
                if bar.disable and (time.monotonic() - said > _PLAIN_SECONDS or is_last):
                    _say(console, _measures(rows, total))
                    said = time.monotonic()
                bar.update(task, completed=rows[0]["steps"], measures=_measures(rows, total))
                if until is not None and min(_success(row) for row in rows) >= until:
                    return True
                if interrupted():
                    return False
    return not interrupted()


def say_what_next(folder: Path, console: Console, *, finished: bool) -> None:
    """How to go on with a run that was stopped; or the paper's final metric, and how to evaluate it."""
    if not finished:
        _say(console, f"stopped; go on with: {_command('train', '--resume', str(folder))}")
        return
    config, rows = read_config(folder), read_log(folder)
    for seed in config.seeds:
        mine = [row for row in rows if row["seed"] == seed]
        if any("evaluation" in row for row in mine):
            final = final_evaluation(mine)
            _say(
                console,
                f"seed {seed}: success {final['success']:.1%}, length {final['episode_length']:.1f}, "
                f"queries {final['queries']:.1f}, F1 {final['f1']:.2f} (mean of the last evaluations)",
            )
    path = folder if len(config.seeds) == 1 else folder / f"best-{config.seeds[0]}.safetensors"
    which = [] if len({*config.tasks}) == 1 else ["--task", config.tasks[0]]
    _say(console, f"done; evaluate it with: {_command('eval', str(path), *which)}")


def _command(*words: str) -> str:
    """A command that knows the modules of one's own that this one knows."""
    return shlex.join(["afk", *words, *(word for name in named_modules() for word in ("--import", name))])


def _say(console: Console, line: str) -> None:
    """Print a line as it is, so that a command in it can be copied."""
    console.print(line, soft_wrap=True, markup=False, highlight=False)


def _measures(rows: list[Row], total: int) -> str:
    """What matters of the latest lines of a log, means over seeds, in less than 60 characters."""
    seen = {name: sum(row["training"][name] for row in rows) / len(rows) for name in rows[0]["training"]}
    return (
        f"{_share(rows[0]['steps'], total)} {rows[0]['steps_per_second']:,.0f}/s "
        f"success {seen['success']:.1%} length {seen['steps']:.1f} queries {seen['queries']:.1f}"
    )


def _share(steps: int, total: int) -> str:
    """Steps of so many, in millions or, if there are fewer, in thousands."""
    scale, unit, digits = (1e6, "M", 2) if total >= 1e6 else (1e3, "K", 0)
    return f"{steps / scale:.{digits}f}/{total / scale:.{digits}f}{unit}"


def _success(row: Row) -> float:
    """Success in the evaluation of a line of the log, if there is one."""
    return row["evaluation"]["success"] if "evaluation" in row else 0.0


@contextmanager
def _catch_interrupt(console: Console) -> Iterator[Callable[[], bool]]:
    """Tell whether Ctrl-C was pressed; the second one is not caught."""
    pressed = []

    def note(number: int, frame: FrameType | None) -> None:
        pressed.append(number)
        signal.signal(signal.SIGINT, before)
        console.print("stopping soon, with everything saved; once more to stop at once")

    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
