"""A folder of records, as far as it can be read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import afk
from afk.checks import is_number
from afk.files import read_object
from afk.report.tables import Published
from afk.studies.record import RunRecord, preset_changes, read_record

RUNS = "runs"  # the folder of the records of runs, in a folder of records
RECORDS = Path("results")  # the folder of records of whoever works here


@dataclass(frozen=True)
class Archive:
    """What a folder of records holds.

    Attributes:
        runs: what was trained; of runs of one preset, agent and tasks the one with most seeds, then the one
            that was trained longest.
        superseded: the others of these.
        apart: runs that were told something else than their preset's are: answers that stay in view, or what
            sources with traits say. They are in tables about that, and in no other.
        published: the paper's numbers, ``published.json``.
        expert: what the expert did on each task, ``expert.json``, by task.
        games: statistics of the games of Q-TextWorld, ``textworld-games.json``, by task.
        pretrained: what the agents that come with the package did on each, ``pretrained.json``, by task.
        pretrained_sources: what they did with other sources, ``pretrained-sources.json``, row by row.
        knowledge_agents: what agents with sources came to, ``knowledge-agents.json``, row by row.
        knowledge_experts: what who plans comes to there, ``knowledge-experts.json``, likewise.
        problems: files that cannot be used, and those that are not there; a line each.
    """

    runs: tuple[RunRecord, ...] = ()
    superseded: tuple[RunRecord, ...] = ()
    apart: tuple[RunRecord, ...] = ()
    published: dict[str, Any] = field(default_factory=dict)
    expert: dict[str, dict[str, Any]] = field(default_factory=dict)
    games: dict[str, dict[str, Any]] = field(default_factory=dict)
    pretrained: dict[str, dict[str, Any]] = field(default_factory=dict)
    pretrained_sources: tuple[dict[str, Any], ...] = ()
    knowledge_agents: tuple[dict[str, Any], ...] = ()
    knowledge_experts: tuple[dict[str, Any], ...] = ()
    problems: tuple[str, ...] = ()

    def paper(self, *path: str) -> Published | None:
        """The paper's number in a table, a row and a column; None if it has none there."""
        return to_published(look_up(self.published, *path))

    def paper_notes(self, *tables: str) -> list[str]:
        """Where the paper disagrees with itself, as its numbers' file tells of these tables."""
        return [
            f"Paper: {self.published[name]}" for each in tables if (name := f"{each}_note") in self.published
        ]


def look_up(content: Any, *path: str) -> Any:
    """What stands at a path in JSON; None if nothing does."""
    for name in path:
        content = content.get(name) if isinstance(content, dict) else None
    return content


def to_published(found: Any) -> Published | None:
    """A number, or a mean and a deviation, out of the file of the paper's numbers; None if it is neither."""
    numbers = found if isinstance(found, list) else [found]
    return Published(*numbers) if len(numbers) in (1, 2) and all(map(is_number, numbers)) else None


def find_records() -> Path:
    """The folder of records here, or else that of the package, or of its source tree; see ``setup.py``."""
    package = Path(afk.__file__).parent
    folders = (RECORDS, package / "records", package.parents[1] / RECORDS)
    return next((folder for folder in folders if (folder / "published.json").is_file()), RECORDS)


def read_archive(folder: Path) -> Archive:
    """Read what can be read of a folder, and say of the rest why not."""
    if not folder.is_dir():
        raise ValueError(f"there is no folder of records {folder}")
    problems: list[str] = []

    def attempt(read: Callable[[Path], Any], path: Path) -> Any:
        try:
            return read(path)
        except ValueError as error:
            problems.append(str(error))
            return None

    found = ((folder / RUNS).glob(pattern) for pattern in ("*", "*/record.json"))
    paths = sorted(path for some in found for path in some if path.is_file() and path.name[0] != ".")
    if not paths:
        problems.append(f"{folder / RUNS} holds no record of a run yet")
    runs = [run for path in paths if (run := attempt(read_record, path))]
    apart = [run for run in runs if _is_apart(run)]
    chosen = _choose([run for run in runs if run not in apart], problems)
    return Archive(
        runs=chosen,
        superseded=tuple(run for run in runs if run not in apart and run not in chosen),
        apart=tuple(sorted(apart, key=lambda run: run.name)),
        published=attempt(_read_published, folder / "published.json") or {},
        expert=attempt(_read_tasks, folder / "expert.json") or {},
        games=attempt(_read_tasks, folder / "textworld-games.json") or {},
        pretrained=attempt(_read_tasks, folder / "pretrained.json") or {},
        pretrained_sources=attempt(_read_rows, folder / "pretrained-sources.json") or (),
        knowledge_agents=attempt(_read_rows, folder / "knowledge-agents.json") or (),
        knowledge_experts=attempt(_read_rows, folder / "knowledge-experts.json") or (),
        problems=tuple(problems),
    )


def _is_apart(run: RunRecord) -> bool:
    """Whether a run is no better or worse recipe of its preset's, but was told something else."""
    return not {"keep_last_answer", "sources"}.isdisjoint(preset_changes(run.config))


def _choose(runs: Sequence[RunRecord], problems: list[str]) -> tuple[RunRecord, ...]:
    """One run for each preset, agent and tasks, see `Archive`; those that are left out are named."""
    chosen: dict[tuple[str, str, tuple[str, ...]], RunRecord] = {}
    for run in sorted(runs, key=lambda run: (len(run.seeds), run.config["steps"])):
        before = chosen.get((run.preset, run.agent, run.tasks))
        if before and before.identity != run.identity:
            problems.append(f"{before.name} is left out: {run.name} has more seeds or steps")
        chosen[run.preset, run.agent, run.tasks] = run
    return tuple(sorted(chosen.values(), key=lambda run: run.name))


def _read_published(path: Path) -> dict[str, Any]:
    """The paper's numbers; a number that is not where it should be is missing, as if the paper had none."""
    content = read_object(path)
    pairs = content.get("generalization", [])
    if not isinstance(pairs, list) or not all(
        isinstance(look_up(pair, "target"), str) and isinstance(look_up(pair, "sources"), list)
        for pair in pairs
    ):
        raise ValueError(f"{path} is not the file of the paper's numbers: generalization makes no sense")
    return content


def _read_tasks(path: Path) -> dict[str, dict[str, Any]]:
    """A record with a list of tasks, by task."""
    rows = read_object(path).get("tasks")
    if not isinstance(rows, list) or not all(isinstance(look_up(row, "task"), str) for row in rows):
        raise ValueError(f"{path} is not a record of tasks: it has no list of them")
    return {row["task"]: row for row in rows}


def _read_rows(path: Path) -> tuple[dict[str, Any], ...]:
    """A record with a row for each task and point."""
    rows = read_object(path).get("rows")
    if not isinstance(rows, list) or not all(isinstance(look_up(row, "task"), str) for row in rows):
        raise ValueError(f"{path} is not a record of agents with sources: it has no list of rows")
    return tuple(rows)
