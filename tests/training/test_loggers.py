"""Weights & Biases and MLflow are told what the log of a run says; both are stubs here."""

import sys
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from unittest.mock import Mock

import pytest

from afk.training.loggers import LOGGERS, check_loggers, open_loggers
from afk.training.tensorboard import EventLog, scalars

from .tiny_run import TINY, log_row


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Mock:
    """A package that notes what it is called with."""
    package = Mock(__spec__=ModuleSpec(request.param, None))
    monkeypatch.setitem(sys.modules, request.param, package)
    return package


@pytest.mark.parametrize("stub", ["wandb"], indirect=True)
def test_wandb_gets_all_numbers_at_their_steps(stub: Mock, tmp_path: Path) -> None:
    check_loggers(["wandb"])
    (_, logger), rows = open_loggers(tmp_path, TINY, ["wandb"], after=0), [log_row(), log_row(seed=7)]
    logger.write(rows[:1])
    logger.write(rows)
    options = stub.init.call_args.kwargs
    assert options["config"] == TINY.to_json() and options["resume"] == "allow"
    assert options["id"].startswith(TINY.identity) and options["name"] == tmp_path.name
    one, both = stub.init.return_value.log.call_args_list
    assert one.args == (scalars(rows[0]),) and one.kwargs == {"step": 160}
    assert both.args[0]["seed-24/evaluation/success"] == both.args[0]["seed-7/training/success"] == 0.5


@pytest.mark.parametrize("stub", ["mlflow"], indirect=True)
def test_mlflow_gets_parameters_and_numbers(stub: Mock, tmp_path: Path) -> None:
    config = replace(TINY, tasks=("C", "CS"))
    (_, logger) = open_loggers(tmp_path, config, ["mlflow"], after=0)
    row = log_row()
    row["evaluation_by_task"] = dict.fromkeys(config.tasks, row["evaluation"])
    logger.write([row])
    (started,) = stub.start_run.call_args_list
    assert started.kwargs["run_name"] == tmp_path.name and not stub.search_runs.called
    assert stub.log_params.call_args.args[0]["settings.bonus"] == config.settings.bonus
    numbers = stub.log_metrics.call_args.args[0]
    assert stub.log_metrics.call_args.kwargs == {"step": 160}
    assert numbers["evaluation/success/qbabyai/object-in-box danger"] == 0.5


@pytest.mark.parametrize("stub", ["mlflow"], indirect=True)
def test_mlflow_goes_on_with_the_run_that_it_has(stub: Mock, tmp_path: Path) -> None:
    folder = tmp_path / "it's mine"
    open_loggers(folder, TINY, ["mlflow"], after=0)
    ((tag, identity),) = stub.start_run.call_args.kwargs["tags"].items()
    stub.search_runs.return_value = [Mock(**{"info.run_id": "77"})]
    open_loggers(folder, TINY, ["mlflow"], after=160)
    assert stub.search_runs.call_args.kwargs["filter_string"] == f"tags.`{tag}` = '{identity}'"
    assert stub.start_run.call_args.kwargs == {"run_id": "77"} and stub.log_params.call_count == 1
    stub.search_runs.return_value = []  # it was begun elsewhere, or without MLflow
    open_loggers(folder, TINY, ["mlflow"], after=160)
    assert stub.start_run.call_args.kwargs["tags"] == {tag: identity} and stub.log_params.call_count == 2
    open_loggers(folder, replace(TINY, seeds=(7,)), ["mlflow"], after=0)
    other = stub.start_run.call_args.kwargs["tags"][tag]
    assert identity != other and identity.count("'") == 0


@pytest.mark.parametrize("name", LOGGERS)
def test_without_its_package_a_logger_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afk.training.loggers.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=f"--{name} takes the package {name}: pip install {name}"):
        check_loggers([name])


def test_tensorboard_alone_is_written_unless_another_is_named(tmp_path: Path) -> None:
    assert [type(each) for each in open_loggers(tmp_path, TINY, [], after=0)] == [EventLog]
