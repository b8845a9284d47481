"""Broken files in a run's folder, among records, and where a study is described."""

import json
import random
import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from . import broken
from .common import STUDY, Outcome, Tally, command, contents, fork, judge, resume, train_tiny

_RECORDS = Path(__file__).parents[2] / "results" / "runs"
_ANY = (None, "x", [], {}, [1.5], -1, True, 1e30, "../../x", "\0")
_WRONG = (None, "x", [], [1.5], -1, True, "../../x")
_EVAL = ("eval", "run", "--task", "S", "--episodes", "8")
_WATCH = ("watch", "run", "--task", "S")
_RESUME = resume("run")
_SWEEP = ("sweep", "study.json", "--ray", "local", "--runs", "runs", "--from", "records")
_REPRODUCE = ("reproduce", "table-1", "--from", "records")


@dataclass(frozen=True)
class Case:
    """A broken file and who reads it.

    Attributes:
        path: of the file.
        damage: what is done to it.
        work: what reads it: the arguments of ``afk``, or ``list`` for the viewer's list of agents.
        fails: whether that has to fail.
    """

    path: str
    damage: broken.Damage
    work: tuple[str, ...]
    fails: bool = True


def fuzz_files(place: Path, seed: int, most: int | None) -> Tally:
    """Break a file in a copy of a run that is half trained, read it, and see that nothing else is touched.

    Args:
        place: a folder to work in.
        seed: what the cases are drawn with.
        most: how many are tried; 300 if None.
    """
    tally, rng = Tally("broken files"), random.Random(seed)
    whole, here = place / "files", place / "here"
    make_whole(whole)
    cases = list(_list_cases(whole, rng))
    rng.shuffle(cases)
    for case in cases[: most or 300]:
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(whole, here, symlinks=True)
        what, damage = case.damage
        damage(here / case.path)
        before = contents(here)
        outcome = _read(case, here)
        name = f"{case.path}: {what}: {' '.join(case.work)[:60]}"
        judge(tally, outcome, name, fails=case.fails, shows=True)
        after = contents(here)
        for path in before.keys() | after.keys():
            # A lock says who has it; nothing else is touched.
            if after.get(path) != before.get(path) and not path.endswith("lock"):
                tally.count("lost", f"{name}: {path} was changed")
    return tally


def make_whole(whole: Path) -> None:
    """What is broken: a run that is half trained, once more as a sweep has it, a study, and records."""
    whole.mkdir(parents=True)
    config = json.loads(_must(fork(command(*train_tiny("run"), "--print-config"), whole)).out)
    _must(fork(partial(_stop_half_way, config), whole))
    shutil.copytree(whole / "run", whole / "runs" / (whole / "name").read_text())
    (whole / "study.json").write_text(json.dumps(STUDY))
    (whole / "records" / "runs").mkdir(parents=True)
    shutil.copy(
        min(_RECORDS.glob("*.json"), key=lambda path: path.stat().st_size),
        whole / "records" / "runs" / "one.json",
    )


def _stop_half_way(config: dict[str, Any]) -> None:
    """Train a run, and stop after the third of six lines; the folder's name for a sweep is noted."""
    from afk.studies.study import run_folder
    from afk.training.config import Config
    from afk.training.trainer import start_run, train

    run = Config.from_json({name: value for name, value in config.items() if name != "identity"})
    start_run(run, Path("run"))
    with closing(train(Path("run"))) as lines:
        for _ in range(3):
            next(lines)
    Path("name").write_text(run_folder(Path("runs"), run).name)


def _must(outcome: Outcome) -> Outcome:
    if outcome.code != 0:
        raise RuntimeError(f"nothing to break could be made: {outcome.err}")
    return outcome


def _read(case: Case, here: Path) -> Outcome:
    return fork(_list_agents if case.work == ("list",) else command(*case.work), here)


def _list_agents() -> None:
    """What the viewer lists."""
    from afk.view.library import Library

    json.dumps(Library(Path()).describe())


def _list_cases(whole: Path, rng: random.Random) -> Iterator[Case]:
    """Every broken file; of those that differ in one value a part, drawn anew for every seed."""
    run = whole / "run"
    config = json.loads((run / "config.json").read_text())
    row = json.loads((run / "log.jsonl").read_bytes().splitlines()[0])
    configs = broken.with_fields(config, config.keys() - {"preset", "held_out"}, _ANY)
    rows = broken.with_fields(
        row, ("seed", "updates", "steps", "seconds", "training", "losses"), _WRONG, line=True
    )
    swept = f"runs/{(whole / 'name').read_text()}"

    gone: broken.Damage = ("gone", lambda path: path.unlink())

    def some(damages: Iterator[broken.Damage], count: int) -> list[broken.Damage]:
        every = list(damages)
        return rng.sample(every, min(count, len(every)))

    for damage in [*broken.as_json(), *broken.in_its_place(), *some(configs, 60)]:
        yield Case("run/config.json", damage, _RESUME)
    for damage in some(broken.as_json(), 8):
        yield Case(f"{swept}/config.json", damage, _SWEEP)
    for damage in [*broken.as_json(), *broken.in_its_place(), *some(rows, 40)]:
        if damage[0] != "empty":
            yield Case("run/log.jsonl", damage, _RESUME)
    for damage in some(broken.as_json(none=False), 8):
        if damage[0] != "empty":
            yield Case(f"{swept}/log.jsonl", damage, _SWEEP)
    for damage in [*broken.as_arrays(run / "state.safetensors", rng), *broken.in_its_place(), gone]:
        yield Case("run/state.safetensors", damage, _RESUME)
    agents = [*broken.as_arrays(run / "best-24.safetensors", rng), *broken.in_its_place()]
    for number, damage in enumerate(agents):
        yield Case("run/best-24.safetensors", damage, (_EVAL, _WATCH)[number % 2])
        yield Case("run/best-24.safetensors", damage, ("list",), fails=False)
    for damage in broken.in_its_place():
        if damage[0] != "a link to itself":
            yield Case("run/lock", damage, _RESUME)
    for damage in [*broken.as_json(), *broken.in_its_place()]:
        yield Case("study.json", damage, _SWEEP)
        if damage[0] != "a link to itself":  # which is as good as no record
            yield Case("run/record.json", damage, _RESUME)
        yield Case("records/runs/one.json", damage, _REPRODUCE, fails=False)
