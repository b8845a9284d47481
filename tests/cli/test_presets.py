"""Presets and hyperparameters as the command line lists them, and checks that come before long output."""

import json
from pathlib import Path

import pytest

from afk.training.presets import ABOUT, PRESETS, preset

from ..command import Run


def test_presets_are_listed(run: Run) -> None:
    rows = json.loads(run("presets", "--json").out)
    assert [row["preset"] for row in rows if row["world"] == "qtextworld"] == [*PRESETS["qtextworld"]["any"]]
    assert {row["preset"] for row in rows} == {*ABOUT}
    assert all(about in " ".join(run("presets").out.split()) for about in ABOUT.values())


def test_a_preset_that_is_somebody_elses_is_refused_by_whose_it_is(run: Run) -> None:
    done = run("config", "paper-wide")
    assert done.code == 2 and "'paper-wide' is for tasks of qtextworld, not of qbabyai" in done.err
    done = run("config", "plain")
    assert done.code == 2 and "'plain' is for afk-plus, not for afk; it is one of paper, rel" in done.err
    assert run("config", "nonsense").err.startswith("error: unknown preset 'nonsense'; it is one of paper")


@pytest.mark.parametrize("arguments", [("laptop",), ("paper", "--task", "take-1")])
def test_every_hyperparameter_has_its_value_and_a_meaning(arguments: tuple[str, ...], run: Run) -> None:
    rows = {row["name"]: row for row in json.loads(run("config", *arguments, "--json").out)}
    config = preset(arguments[0], [arguments[-1] if len(arguments) > 1 else "danger"])
    assert rows["settings.learning_rate"]["value"] == config.settings.learning_rate
    assert rows["size.width"]["value"] == config.size.width
    assert rows["settings.discount"]["meaning"] == "gamma."
    assert [name for name, row in rows.items() if not row["meaning"]] == []
    assert all(name in run("config", *arguments).out for name in rows)


def test_a_run_of_several_tasks_is_not_guessed(run: Run, tmp_path: Path) -> None:
    config = preset("laptop", ["S", "C"])
    (tmp_path / "config.json").write_text(json.dumps(config.to_json()))
    done = run("eval", str(tmp_path))
    assert done.code == 2 and done.err.endswith(
        "was trained on several tasks: --task is one of qbabyai/danger, qbabyai/object-in-box\n"
    )


def test_a_sweep_says_that_ray_is_missing_before_anything_else(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("afk.studies.cluster.find_spec", lambda name: None)
    done = run("sweep", "table-1", "--ray", "local")
    assert done.code == 2 and done.err == "error: a sweep takes Ray: pip install 'afk-rl[sweep]'\n"
