"""The record of a run: what is kept of it, and what every table of results reads.

    results/runs/fast--afk--CS--steps=5M--9f3c1a20ab.json    preset, agent, tasks, what differs, identity

A run is its configuration: `identity_of` tells runs apart, and the rest of the name is for people. Seeds of
one run are kept in one record. A table is only as good as its records, so they are checked as they are read:
the first thing that is wrong with a file is said in one line.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from afk.checks import is_number
from afk.envs.registry import tasks_by_letters
from afk.files import read_object, write_file
from afk.training.config import differences, identity_of
from afk.training.log import MEASURES
from afk.training.presets import preset

SHARES = ("success", "precision", "recall", "f1")  # of the measures, those from 0 to 1
CURVE = ("steps", "success", "episode_length", "reward", "queries", "f1")
_LONGEST = 90  # letters of what differs, in a name
Measures = dict[str, Any]


@dataclass(frozen=True)
class SeedRecord:
    """What one seed came to.

    Attributes:
        seed: what everything was drawn from.
        final: the paper's final metric for each task of training: means of the last ten evaluations.
        fresh: the last agent on fresh levels, for these tasks and perhaps for others: what `summarise` gives,
            and ``query_histogram``, how many episodes had 0, 1, 2, ... queries.
        curve: evaluations along training, over all its tasks: a list for each name in `CURVE`.
        by_task: of these the success in each task, if there are several.
    """

    seed: int
    final: dict[str, Measures]
    fresh: dict[str, Measures]
    curve: dict[str, list[float]]
    by_task: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunRecord:
    """What a run came to.

    Attributes:
        config: the whole configuration, as JSON; tasks or presets that are not known here do no harm.
        variant: what the name of its agent stood for.
        machine: where it was trained.
        seconds: training and evaluating, from the first step on; the first evaluation is compiled then.
        training_seconds: training alone.
        compile_seconds: before the first step; None if the run was recorded later than trained.
        steps_per_second: of training, all seeds together.
        seeds: what each of them came to.
    """

    config: dict[str, Any]
    variant: dict[str, Any]
    machine: dict[str, Any]
    seconds: float
    training_seconds: float
    compile_seconds: float | None
    steps_per_second: float
    seeds: tuple[SeedRecord, ...]

    @property
    def preset(self) -> str:
        """The name of its preset."""
        return self.config["preset"]

    @property
    def agent(self) -> str:
        """The name of its agent."""
        return self.config["agent"]

    @property
    def tasks(self) -> tuple[str, ...]:
        """What it was trained on."""
        return tuple(self.config["tasks"])

    @property
    def identity(self) -> str:
        """What tells it apart from other runs."""
        return identity_of(self.config)

    @property
    def name(self) -> str:
        """What its file is called."""
        return run_name(self.config)


def run_name(config: Mapping[str, Any]) -> str:
    """What the record of a run, given as JSON, is called: preset, agent, tasks, what differs, identity."""
    changes = [f"{name.rpartition('.')[2]}={_short(value)}" for name, value in preset_changes(config).items()]
    while len(",".join(changes)) > _LONGEST:
        changes.pop()
    tasks = "+".join(map(short_name, config["tasks"]))
    parts = [config["preset"] or "own", config["agent"], tasks, ",".join(changes), identity_of(config)]
    # It names a file, and a record from elsewhere may say anything.
    return re.sub(r"[^\w.+=,-]", "", "--".join(part for part in parts if part))


def preset_changes(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run, as JSON, is not its preset's, by name; nothing if there is no such preset here."""
    try:
        usual = preset(config["preset"], config["tasks"], agent=config["agent"]).to_json()
    except ValueError:  # a preset, an agent or a task that is not known here
        return {}
    return {name: theirs for name, (_, theirs) in differences(usual, config).items()}


def short_name(task: str) -> str:
    """A task of the paper by its letters, such as CS or released-CS; another by the last part of its name."""
    by_name = {name: letters for letters, name in tasks_by_letters().items()}
    return by_name[task].replace("/", "-") if task in by_name else task.split("/")[-1]


def _short(value: Any) -> str:
    """A number in few letters: 5M, 0.97, true."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 10**6 and value % 10**5 == 0:
        return f"{value / 10**6:g}M"
    return re.sub(r"[^\w.-]", "", json.dumps(value))


def merge_records(records: Sequence[RunRecord]) -> RunRecord:
    """One record of runs that differ in their seeds only, as if they had been trained one after the other.

    A ValueError if they differ in anything else, were evaluated on different tasks, or share a seed.
    """
    first = records[0]
    seeds = tuple(seed for record in records for seed in record.seeds)
    if any((each.identity, each.variant) != (first.identity, first.variant) for each in records):
        raise ValueError(f"there are records of {first.name} with different settings")
    if len({each.seed for each in seeds}) < len(seeds):
        raise ValueError(f"there are several records of a seed of {first.name}")
    if any(each.fresh.keys() != seeds[0].fresh.keys() for each in seeds):
        raise ValueError(f"the seeds of {first.name} were evaluated on different tasks")
    compiling = [record.compile_seconds for record in records]
    trained = sum(record.training_seconds for record in records)
    return replace(
        first,
        machine=_merge_machines([record.machine for record in records]),
        config=first.config | {"seeds": [each.seed for each in seeds]},
        seconds=sum(record.seconds for record in records),
        training_seconds=trained,
        compile_seconds=None if None in compiling else sum(filter(None, compiling)),
        steps_per_second=sum(record.steps_per_second * record.training_seconds for record in records)
        / trained,
        seeds=seeds,
    )


def _merge_machines(machines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """A machine like each of these; where they differ, all that they are."""
    merged: dict[str, Any] = {}
    for name, first in machines[0].items():
        # What was merged before has several in one text.
        every = [part for each in machines for part in str(each.get(name)).split(", ")]
        different = list(dict.fromkeys(every))
        merged[name] = first if len(different) == 1 else ", ".join(different)
    return merged


def write_record(path: Path, record: RunRecord) -> None:
    """Write a record, whole, with its lists of numbers on one line each."""
    text = json.dumps(asdict(record), indent=1)
    text = re.sub(r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), text)
    write_file(path, f"{text}\n".encode())


def find_record(folder: Path, identity: str) -> Path | None:
    """The file of a run's record in a folder of records, whatever else its name says."""
    return next(iter(sorted(folder.glob(f"*{identity}.json"))), None)


def keep_record(folder: Path, record: RunRecord) -> Path:
    """Put a record into a folder of records, together with the seeds of its run that are there already.

    Seeds that are in both are taken from the new one.
    """
    path = find_record(folder, record.identity)
    if path is not None:
        mine = {each.seed for each in record.seeds}
        before = read_record(path)
        if others := tuple(each for each in before.seeds if each.seed not in mine):
            share = len(others) / len(before.seeds)
            rest = replace(
                before,
                seeds=others,
                seconds=before.seconds * share,
                training_seconds=before.training_seconds * share,
                compile_seconds=None if before.compile_seconds is None else before.compile_seconds * share,
            )
            record = merge_records([rest, record])
    path = path or folder / f"{record.name}.json"
    write_record(path, record)
    return path


def read_record(path: Path) -> RunRecord:
    """Read a record; a ValueError that says in one line what is wrong with the file, if anything is."""
    content = read_object(path)
    try:
        return _read(content)
    except ValueError as error:
        raise ValueError(f"{path} is not the record of a run: {error}") from error


def _read(content: dict[str, Any]) -> RunRecord:
    """A record out of JSON, checked."""
    _check_kinds(content, {"config": dict, "variant": dict, "machine": dict, "seeds": list}, "it")
    config = content["config"]
    _check_kinds(config, {"preset": str, "agent": str, "tasks": list, "settings": dict}, "its config")
    for name in ("seconds", "training_seconds", "steps_per_second"):
        _check(is_number(content.get(name)), name)
    compiling = content.get("compile_seconds")
    _check(compiling is None or is_number(compiling), "compile_seconds")
    _check(config["tasks"] and all(isinstance(task, str) for task in config["tasks"]), "config.tasks")
    _check(is_number(config.get("steps")), "config.steps")
    seeds = tuple(_read_seed(each, config["tasks"]) for each in content["seeds"])
    _check(seeds and len({each.seed for each in seeds}) == len(seeds), "seeds")
    _check(all(each.fresh.keys() == seeds[0].fresh.keys() for each in seeds), "fresh")
    known: dict[str, Any] = {field.name: content.get(field.name) for field in fields(RunRecord)}
    known["seeds"] = seeds
    return RunRecord(**known)


def _read_seed(content: Any, tasks: list[str]) -> SeedRecord:
    """What one seed came to, checked."""
    _check(isinstance(content, dict), "seeds")
    _check_kinds(content, {"seed": int, "final": dict, "fresh": dict, "curve": dict}, "a seed")
    where = f"of seed {content['seed']}"
    for kind in ("final", "fresh"):
        for task in (*tasks, *content[kind]):
            measures = content[kind].get(task)
            _check(isinstance(measures, dict), f"{kind} {where} for {task}")
            for name in MEASURES:
                value = measures.get(name)
                sound = is_number(value) and (name not in SHARES or 0 <= value <= 1)
                _check(sound, f"{kind} {name} {where} for {task}")
    for task, measures in content["fresh"].items():
        counts = measures.get("query_histogram")
        sound = isinstance(counts, list) and all(isinstance(count, int) and count >= 0 for count in counts)
        _check(sound and sum(counts) == measures.get("episodes") != 0, f"query_histogram {where} for {task}")
    by_task = content.get("by_task", {})
    _check(isinstance(by_task, dict) and set(by_task) <= set(tasks), f"by_task {where}")
    columns = [content["curve"].get(name) for name in CURVE] + list(by_task.values())
    _check(
        all(isinstance(column, list) and all(map(is_number, column)) for column in columns), f"curve {where}"
    )
    _check(len({len(column) for column in columns}) == 1 and columns[0], f"curve {where}")
    return SeedRecord(
        **{field.name: content[field.name] for field in fields(SeedRecord) if field.name in content}
    )


def _check_kinds(content: dict[str, Any], kinds: dict[str, type], what: str) -> None:
    """Refuse an object that lacks something, or has it in another form."""
    missing = [name for name in kinds if name not in content]
    if missing:
        raise ValueError(f"{what} has no {', '.join(missing)}")
    for name, kind in kinds.items():
        _check(isinstance(content[name], kind) and not isinstance(content[name], bool), name)


def _check(sound: Any, what: str) -> None:
    if not sound:
        raise ValueError(f"{what} is missing or makes no sense")
