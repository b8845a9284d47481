import importlib.util
import tomllib
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks/release.py"


@pytest.fixture(scope="module")
def release() -> Any:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lowest_versions_are_the_bounds_and_conditions_stay(release: Any) -> None:
    lowest = release.requirements("lowest", tests="core")
    assert "numpy==2.0; python_version < '3.13'" in lowest
    assert "numpy==2.1; python_version >= '3.13'" in lowest
    assert {each.partition("==")[0] for each in lowest} >= {"jax", "equinox", "pytest", "hypothesis"}
    assert not [each for each in release.requirements("newest", tests="core") if "==" in each]


def test_each_extra_for_language_models_is_tried_alone(release: Any) -> None:
    project = tomllib.loads((SCRIPT.parents[1] / "pyproject.toml").read_text())["project"]
    assert {"llm", "mcp", "inspect"} == set(release.EXTRAS) <= set(project["optional-dependencies"])
    for _, (path, *_) in release.EXTRAS.values():
        assert (SCRIPT.parents[1] / path).is_file()


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("..\n2 passed, 1 skipped in 3.20s\n", "2 passed, 1 skipped"),
        ("F.\n1 failed, 1 passed in 65.01s (0:01:05)\n", "1 failed, 1 passed"),
        ("error: no such file\n", ""),
    ],
)
def test_what_pytest_said(release: Any, tmp_path: Path, said: str, expected: str) -> None:
    (tmp_path / "log").write_text(f"+ python -m pytest\n{said}")
    assert release.summary(tmp_path / "log") == expected


def test_rows_are_kept_by_python_and_set(
    release: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(release, "RECORDS", tmp_path / "versions.json")
    row = dict.fromkeys((*release.NAMED, "done", "tests"), "") | {"outcome": "works", "set": "newest"}
    release.keep([row | {"python": "3.12.1"}, row | {"python": "3.11.7"}])
    release.keep([row | {"python": "3.12.4", "outcome": "fails"}])
    kept = release.read_json(release.RECORDS)["environments"]
    assert [(each["python"], each["outcome"]) for each in kept] == [("3.11.7", "works"), ("3.12.4", "fails")]
