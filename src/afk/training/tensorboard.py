"""The log of a run for TensorBoard, appended as training goes on; nothing where tensorboardX is missing."""

import time
import weakref
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from afk.training.log import Row


class EventLog:
    """Event files of a run, one folder a seed; what was written beyond a step is superseded."""

    def __init__(self, folder: Path, *, after: int) -> None:
        """Go on after so many steps.

        Args:
            folder: of the run.
            after: the steps of its log so far.
        """
        self._folder, self._after = folder / "tensorboard", after
        self._writers: dict[int, Any] = {}

    def write(self, rows: list[Row]) -> None:
        """Append lines of the log, so that they are on disk."""
        if find_spec("tensorboardX") is None:
            return
        for row in rows:
            writer = self._writer(row["seed"])
            values = [{"tag": tag, "simple_value": value} for tag, value in scalars(row).items()]
            writer.write_event(_event(row["steps"], summary={"value": values}))
            writer.flush()

    def _writer(self, seed: int) -> Any:
        # A SummaryWriter would write later, in a thread of its own, and a kill would lose some of it.
        from tensorboardX.event_file_writer import EventsWriter

        if seed not in self._writers:
            place = self._folder / f"seed-{seed}"
            if self._folder.is_symlink() or place.is_symlink():
                raise ValueError(f"{place} is behind a link: nothing is written out of a run's folder")
            place.mkdir(parents=True, exist_ok=True)
            # Otherwise it would overwrite one that was made in the same second.
            writer = EventsWriter(str(place / "events"), filename_suffix=f".{self._after:012}")
            weakref.finalize(self, writer.close)
            # Of a run that was killed, steps that it had logged but not saved come again.
            writer.write_event(_event(self._after + 1, session_log={"status": "START"}))
            self._writers[seed] = writer
        return self._writers[seed]


def _event(step: int, **content: Any) -> Any:
    """An event at a step, now."""
    messages: Any = import_module("tensorboardX.proto.event_pb2")
    return messages.Event(wall_time=time.time(), step=step, **content)


def scalars(row: Row) -> dict[str, float]:
    """The numbers of a line of the log by tags such as ``evaluation/success``."""
    found: dict[str, float] = {}
    for group in ("training", "losses", "evaluation"):
        numbers = {name: value for name, value in row.get(group, {}).items() if isinstance(value, float)}
        found |= {f"{group}/{name}": value for name, value in numbers.items()}
    for task, measures in row.get("evaluation_by_task", {}).items():
        found[f"evaluation/success/{task}"] = measures["success"]
    found["time/steps_per_second"] = row["steps_per_second"]
    return found
