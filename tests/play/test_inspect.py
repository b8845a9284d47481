"""The Inspect task with its `mockllm`, which plays what the expert who reads would."""

# pyright: reportMissingImports=false

from typing import Any

import pytest

from afk.play.expert import make_expert

from .levels import count_tokens

inspect_ai = pytest.importorskip("inspect_ai", reason="an optional extra; its dependencies clash with ours")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def expert_model(*, silent: bool = False) -> Any:
    from inspect_ai.model import ModelOutput, get_model

    experts: dict[str, Any] = {}

    def reply(messages: list[Any], *rest: Any) -> Any:
        if silent:
            return ModelOutput.from_content("mockllm", "I would rather not.")
        rules, first = messages[0].text, messages[1].text
        expert = experts.setdefault(first, make_expert(rules))
        tool, line = expert.reply(messages[-1].text)
        arguments = {"question" if tool == "ask" else "action": line}
        return ModelOutput.for_tool_call("mockllm", tool, arguments)

    return get_model("mockllm/model", custom_outputs=reply)


def run(model: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, **options: Any) -> dict[str, float]:
    from inspect_ai.model import ModelAPI

    from afk.play.inspect import games

    async def count(self: Any, text: str) -> int:  # else it fetches a tokeniser
        return count_tokens(text)

    monkeypatch.setattr(ModelAPI, "count_text_tokens", count)
    (log,) = inspect_ai.eval(
        games(task="C", **options), model=model, log_dir=str(tmp_path), display="none", max_samples=1
    )
    assert log.status == "success", log.error
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


def test_the_expert_wins_by_our_measures(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = run(expert_model(), tmp_path, monkeypatch, episodes=2, macros=True)
    assert scores["success"] == scores["precision"] == scores["recall"] == 1
    assert scores["queries"] == 3 and scores["invalid"] == 0 and 0 < scores["reward"] < 1


def test_natural_questions_are_understood(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from inspect_ai.model import ModelOutput, get_model

    def reply(*_: Any) -> Any:
        arguments = {"question": "tell me what's in jack's suitcase"}
        return ModelOutput.for_tool_call("mockllm", "ask", arguments)

    model = get_model("mockllm/model", custom_outputs=reply)
    scores = run(model, tmp_path, monkeypatch, episodes=1)
    assert scores["invalid"] == 0 and scores["queries"] == scores["steps"]


def test_who_calls_no_tool_gives_up(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    scores = run(expert_model(silent=True), tmp_path, monkeypatch, episodes=1)
    assert scores["success"] == 0 and scores["invalid"] == scores["steps"] == 10
