"""Modules of one's own: how they are found, by whom they are known, and how they are refused."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from afk import plugins
from afk.envs.registry import task_names
from afk.studies.cluster import Resources
from afk.studies.sweep import train_seed
from afk.training.presets import preset
from afk.training.pretrained import find_agent, save_small
from afk.view.library import Library

from .command import Run, make_run
from .registries import registries

__all__ = ["registries"]
ROOT = Path(__file__).parents[1]
COMMANDS = [
    line
    for line in (ROOT / "docs" / "extending.md").read_text().splitlines()
    if line.startswith("afk ") and "--import" in line
]
OWN_TASK = """
import afk
from afk.envs.qbabyai.levels.clauses import Danger
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.tasks import Task
afk.register(Task("qbabyai/{name}", FloorPlan(), (Danger(),)))
"""
SAY_TASKS = "import afk; print(sorted(afk.task_names()[-2:])); print(afk.make('by-name').name)"


@pytest.fixture(autouse=True)
def own_modules(registries: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test imports and registers is not there for others."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    monkeypatch.setattr(plugins, "_loaded", set())
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    yield
    for name in [name for name in sys.modules if name.startswith("own_") and name not in before]:
        del sys.modules[name]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(ROOT)
    return make_run(capsys, monkeypatch)


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_of_the_page_know_what_a_module_registers(line: str, run: Run) -> None:
    _, *arguments = shlex.split(line)
    is_training = arguments[0] == "train"
    done = run(*arguments, *(["--print-config"] if is_training else []))
    assert done.code in (0, None), done.err
    if is_training:
        config = json.loads(done.out)
        assert "qbabyai/four-rooms" in config["tasks"] or (
            config["agent"] == "bag-of-words" or config["settings"]["algorithm"] == "a2c"
        )
    elif arguments[0] == "eval":
        assert "│ success        │ 1.000" in done.out
    else:
        assert ("parrot" if arguments[0] == "sources" else "qbabyai/four-rooms") in done.out


def test_the_commands_of_the_page_were_found() -> None:
    assert {shlex.split(line)[1] for line in COMMANDS} == {"eval", "tasks", "watch", "train", "sources"}


def test_processes_know_installed_plugins_and_named_modules(tmp_path: Path) -> None:
    for name in ("installed", "by-name"):
        (tmp_path / f"own_{name.replace('-', '_')}.py").write_text(OWN_TASK.format(name=name))
    package = tmp_path / "own_package-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: own-package\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[afk.plugins]\nown = own_installed\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    variables = {"PYTHONPATH": path, plugins.VARIABLE: str(tmp_path / "own_by_name.py")}
    done = subprocess.run(
        [sys.executable, "-c", SAY_TASKS],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "['qbabyai/by-name', 'qbabyai/installed']\nqbabyai/by-name\n"


def test_a_worker_of_a_sweep_imports_first(tmp_path: Path) -> None:
    module = tmp_path / "own_worker.py"
    module.write_text(OWN_TASK.format(name="of-a-worker"))
    config = preset("laptop", ["S"])
    said = train_seed(config, tmp_path / "run", 8, Resources(cpus=2, devices=99), [str(module)])
    assert said is not None and "devices" in said
    assert "qbabyai/of-a-worker" in task_names()
    assert os.environ[plugins.VARIABLE] == str(module)
    refused = train_seed(config, tmp_path / "run", 8, Resources(), ["own_nowhere"])
    assert refused == "own_nowhere cannot be imported: No module named 'own_nowhere'"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "own_broken.py cannot be imported: No module named 'own_broken'"),
        ("import own_missing_part", "own_broken.py cannot be imported: No module named 'own_missing_part'"),
        (OWN_TASK.format(name="danger"), "a task named 'qbabyai/danger' is registered already"),
    ],
)
def test_a_module_that_cannot_be_used_is_one_line(
    content: str | None, said: str, tmp_path: Path, run: Run
) -> None:
    module = tmp_path / "own_broken.py"
    if content is not None:
        module.write_text(content)
    done = run("tasks", "--import", str(module))
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
    assert not os.environ[plugins.VARIABLE]


def test_a_file_that_another_module_hides_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("")
    with pytest.raises(ValueError, match=r"another module is called json, rename the file"):
        plugins.add_modules([str(tmp_path / "json.py")])


def test_the_viewer_shows_runs_on_tasks_that_it_knows(tmp_path: Path) -> None:
    module = tmp_path / "own_viewed.py"
    module.write_text(OWN_TASK.format(name="viewed"))
    plugins.add_modules([str(module)])
    agent = find_agent("pretrained", ("S",))
    for name, tasks in (("ours", ("qbabyai/danger",)), ("own", ("qbabyai/viewed",))):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        save_small(folder / "best-24.safetensors", agent._replace(config=replace(agent.config, tasks=tasks)))
    library = Library(tmp_path / "runs")
    assert {"ours/best-24", "own/best-24"} <= {each["name"] for each in library.describe()["agents"]}
    assert library.left_out() == {}
    forget("qbabyai/viewed")
    assert "own/best-24" not in {each["name"] for each in library.describe()["agents"]}
    assert "unknown task 'qbabyai/viewed'" in library.left_out()["own/best-24"]
    with pytest.raises(ValueError, match=r"unknown task 'qbabyai/viewed'.*--import"):
        Library(None, tmp_path / "runs" / "own")


def forget(task: str) -> None:
    """Make a task unknown again, as it is where its module is not imported."""
    from afk.envs import registry

    del registry._registered[task]
