"""Chat models, good and bad, over the real protocol: what comes of them, and that nothing is lost."""

import io
import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from afk.files import read_object, write_file, write_json
from afk.knowledge.catalogue import SOURCES, register_source
from afk.knowledge.human import Human
from afk.knowledge.keys import KEY_NAME
from afk.play.budget import Budget, BudgetSpentError, bound
from afk.play.client import Endpoint
from afk.play.evaluation import Settings, evaluate_model
from afk.play.serving import ExpertModel, Reply
from afk.play.tools import describe_tools, read_reply

from .chat_server import BODY, evaluate, lines_of, rude, say, served


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("act: turn left", ("act", "turn left")),
        ("I think.\n**Ask: where is the ball?**", ("ask", "where is the ball")),
        ("act(forward)", ("act", "forward")),
        ("act: left\nact: right", ("act", "right")),
        ("forward", ("act", "forward")),
        ('{"name": "ask", "parameters": {"question": "where kitchen"}}', ("ask", "where kitchen")),
    ],
)
def test_plain_text_is_read(text: str, read: tuple[str, str]) -> None:
    (found,) = read_reply(say(text))
    assert (found.tool, found.line) == read


def test_schemas_come_from_the_docstrings() -> None:
    act, ask = (tool["function"] for tool in describe_tools("asking"))
    assert act["parameters"]["required"] == ["action"] and "action" in act["description"] + str(act)
    assert ask["parameters"]["properties"]["question"]["type"] == "string"
    assert [tool["function"]["name"] for tool in describe_tools("all-told")] == ["act"]


def test_a_key_is_hidden_in_what_was_read_and_spoils_no_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_NAME, '"content"')
    with served(lambda *_: say('a "content" of mine')) as address:
        reply = Endpoint(address, "model", tries=1).complete([{"role": "user", "content": "hello"}], [])
    assert reply.message["content"] == "a *** of mine"


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    asked: list[int] = []

    def counting(model: ExpertModel, most: int) -> Reply:
        def reply(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
            asked.append(len(messages))
            if len(asked) > most:
                raise ValueError("no more")
            return model(messages, tools)

        return reply

    whole = evaluate(ExpertModel(), tmp_path / "whole")
    for most in (3, 9, 14):
        with pytest.raises(ValueError, match=r"of 2 levels are done, .* the server refused: 400"):
            evaluate(counting(ExpertModel(), most), tmp_path / "cut")
        latest = max((tmp_path / "cut").glob("*.jsonl"))
        latest.write_bytes(latest.read_bytes()[:-7])  # killed as it wrote
    cut = evaluate(counting(ExpertModel(), 1_000), tmp_path / "cut")
    assert {**cut, "seconds": 0} == {**whole, "seconds": 0}
    again = evaluate(counting(ExpertModel(), 0), tmp_path / "cut")  # nothing is left to be asked
    assert again == cut
    with pytest.raises(ValueError, match="was begun with mode 'asking', not 'all-told'"):
        evaluate(ExpertModel(), tmp_path / "cut", mode="all-told")


@pytest.mark.parametrize("number", [1, 2, 4])  # rules, the first observation, an answer
def test_a_run_goes_on_only_where_all_is_as_it_was(tmp_path: Path, number: int) -> None:
    def stop(messages: list[dict[str, Any]], _: list[dict[str, Any]]) -> dict[str, Any]:
        if len(messages) > 4:
            raise ValueError("no more")
        return say("ask: where kitchen")

    with pytest.raises(ValueError, match="no more"):
        evaluate(stop, tmp_path, tools=False, episodes=1)
    path = tmp_path / "level-00000.jsonl"
    lines = lines_of(tmp_path)
    lines[number - 1]["content"] += " There was more to it."
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(ValueError, match=f"{path} was begun with another line {number}; name another folder"):
        evaluate(ExpertModel(), tmp_path, tools=False, episodes=1)
    assert lines_of(tmp_path) == lines


@pytest.mark.parametrize(
    "damage",
    [
        None,
        {"usage": None},
        {"usage": {"prompt_tokens": "many", "completion_tokens": 1}},
        {"seconds": []},
        {"message": "act: left"},
        {"result": {"ending": "success"}},
        {"result": 3},
    ],
)
def test_a_damaged_transcript_is_named(tmp_path: Path, damage: dict[str, Any] | None) -> None:
    path = tmp_path / "level-00000.jsonl"
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    line: dict[str, Any] = {"role": "assistant", "message": {}, "usage": usage, "seconds": 0}
    damaged = "{'role'}" if damage is None else json.dumps(line | damage)
    lines = "".join(f"{each}\n" for each in (json.dumps(line), damaged, json.dumps(line)))
    write_file(path, lines.encode())
    with pytest.raises(ValueError, match=f"{path} cannot be read: line 2 is none of a transcript"):
        evaluate(ExpertModel(), tmp_path)
    assert path.read_text() == lines


def test_progress_shows_levels_tokens_and_the_time_left(tmp_path: Path) -> None:
    def reply(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        time.sleep(0.3 if len(messages) == 2 else 0)  # so that each level is shown
        return expert(messages, tools)

    expert, shown = ExpertModel(), io.StringIO()
    console = Console(file=shown, force_terminal=True, width=120)
    evaluate(reply, tmp_path, episodes=3, at_once=1, macros=True, console=console)
    seen = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown.getvalue())
    spent = sum(sum(line["usage"].values()) for line in lines_of(tmp_path) if "usage" in line)
    assert "model on C" in seen and f"3/3 {spent:,} tokens 0:00:00" in seen
    tokens, left = re.findall(r"2/3 ([\d,]+) tokens (\d:\d\d:\d\d)", seen)[-1]
    assert 0 < int(tokens.replace(",", "")) < spent and left <= "0:10:00"


def test_two_runs_do_not_share_a_folder(tmp_path: Path) -> None:
    def reply(*request: Any) -> dict[str, Any]:
        with pytest.raises(ValueError, match=f"{tmp_path} is in use by process"):
            evaluate(ExpertModel(), tmp_path)
        return ExpertModel()(*request)

    assert evaluate(reply, tmp_path, episodes=1)["success"] == 1


@pytest.mark.parametrize("source", ["sql", "documents"])
def test_another_source_is_asked(tmp_path: Path, source: str) -> None:
    expert = ExpertModel()
    summary = evaluate(expert, tmp_path, source=source)
    assert summary["success"] == summary["recall"] == 1 and summary["source"] == source
    told = next(line["content"] for line in lines_of(tmp_path) if line.get("role") == "tool")
    assert "The answer:" in told and summary == evaluate(expert, tmp_path, source=source)  # nothing is left
    with pytest.raises(ValueError, match=f"was begun with source '{source}', not 'oracle'"):
        evaluate(expert, tmp_path)


NATURAL = "tell me what's in jack's suitcase"


def test_natural_questions_are_understood(tmp_path: Path) -> None:
    def stop(messages: list[dict[str, Any]], _: list[dict[str, Any]]) -> dict[str, Any]:
        if len(messages) > 2:
            raise ValueError("no more")
        return say(f"ask: {NATURAL}")

    with pytest.raises(ValueError, match="no more"):
        evaluate(stop, tmp_path, tools=False, episodes=1)
    assert "jack suitcase is" in lines_of(tmp_path)[-1]["content"]
    settings = read_object(tmp_path / "model.json")
    assert settings.pop("natural_questions")  # as an earlier version left it
    write_json(tmp_path / "model.json", settings)
    with pytest.raises(ValueError, match="was begun with natural_questions False, not True"):
        evaluate(stop, tmp_path, tools=False, episodes=1)


def test_a_source_that_answers_differently_is_refused_whatever_its_name() -> None:
    name = "moody"
    register_source(name, lambda: Human(), "a person by another name")
    try:
        with pytest.raises(ValueError, match="cannot be evaluated with the source moody"):
            Settings("model", "C", source=name)
    finally:
        del SOURCES[name]


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"source": "human"}, "cannot be evaluated with the source human, which answers differently"),
        ({"source": "openai:gpt"}, "cannot be evaluated with the source openai:gpt"),
        ({"source": "nobody"}, "unknown source 'nobody'"),
        ({"source": "sql", "mode": "all-told"}, "nobody is asked in mode all-told: leave out --source"),
    ],
)
def test_who_cannot_be_asked(options: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError, match=refusal):
        Settings("model", "C", **options)
    with pytest.raises(ValueError, match="openai: comes before the name of a model"):
        Settings("", "C")
    assert Settings("model", "C", source="sql").folder != Settings("model", "C").folder


def test_the_budget_is_never_exceeded(tmp_path: Path) -> None:
    whole = evaluate(ExpertModel(), tmp_path / "whole")
    needed = int(2 * (whole["prompt_tokens"] + whole["completion_tokens"]))
    for budget in (1, needed // 2):
        with pytest.raises(ValueError, match=r"of 2 levels are done, ([\d,]+) tokens spent: the budget of"):
            evaluate(ExpertModel(), tmp_path / "cut", budget=budget)
        spent = sum(sum(line["usage"].values()) for line in lines_of(tmp_path / "cut") if "usage" in line)
        assert spent <= budget
    assert evaluate(ExpertModel(), tmp_path / "cut", budget=20 * needed)["success"] == 1


GOOD = 200, {}, json.dumps({"choices": [{"message": say("act: left")}]}).encode()


def test_several_threads_share_a_budget() -> None:
    with rude(GOOD) as (address, seen):  # which counts no tokens: the most that there can be are taken
        budget, spent = Budget(20_000), []
        endpoint, messages = Endpoint(address, "model", max_tokens=64), [{"role": "user", "content": "hi"}]

        def ask() -> None:
            try:
                while True:
                    budget.complete(endpoint, messages, [])
            except BudgetSpentError:
                spent.append(budget.spent)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(spent) == 4 and 18_000 < budget.spent <= 20_000 and len(seen) > 40


MESSAGES = [{"role": "user", "content": "hi"}]
MOST = bound(MESSAGES, []) + 64  # tokens that a request may take
REFUSED = "http://127.0.0.1:9"


def try_with(budget: Budget, address: str) -> str:
    """Why there was no reply after two tries."""
    endpoint = Endpoint(address, "model", max_tokens=64, tries=2, timeout=0.3, sleep=lambda seconds: None)
    with pytest.raises(ValueError) as error:
        budget.complete(endpoint, MESSAGES, [])
    return str(error.value)


def test_a_slow_server_is_tried_as_often_as_the_budget_allows(tmp_path: Path) -> None:
    path, most = tmp_path / "spent.json", 7 * MOST // 2
    with rude(GOOD, pause=0.1) as (address, seen):  # it may have said all of it whenever we hang up
        budget = Budget(most, path)
        assert "after 2 tries" in try_with(budget, address) and len(seen) == 2 and budget.spent == 2 * MOST
        assert "the budget of" in try_with(budget, address) and len(seen) == 3
        again = Budget(most, path)
        assert again.spent == 3 * MOST and "the budget of" in try_with(again, address) and len(seen) == 3


@pytest.mark.parametrize(
    ("answer", "taken"),
    [
        ((500, {}, b""), 2),
        ((200, {}, b"<html>"), 2),
        ((200, {}, b"[" * 5_000_000), 2),
        ((200, {"Content-Length": "900"}, b"{}"), 2),
        ((429, {}, b""), 0),
        ((503, {}, b""), 0),
        ((400, {}, b""), 0),
        ((302, {"Location": "http://example.org/"}, b""), 0),
        (None, 0),
    ],
)
def test_what_a_server_may_have_worked_on_counts(
    answer: tuple[int, dict[str, str], bytes] | None, taken: int, tmp_path: Path
) -> None:
    budget = Budget(None, tmp_path / "spent.json")
    with rude(answer or GOOD) as (address, _):
        try_with(budget, address if answer else REFUSED)
    assert budget.spent == Budget(None, tmp_path / "spent.json").spent == taken * MOST


def test_what_was_under_way_when_a_process_was_killed_counts(tmp_path: Path) -> None:
    found = []

    def reply(*request: Any) -> dict[str, Any]:
        found.append((read_object(tmp_path / "spent.json")["tokens"], bound(*request)))
        return ExpertModel()(*request)

    summary = evaluate(reply, tmp_path, episodes=1, at_once=1)
    spent = 0
    for line, (tokens, prompt) in zip(
        (each for each in lines_of(tmp_path) if "usage" in each), found, strict=True
    ):
        assert tokens == spent + prompt + summary["max_tokens"]
        spent += sum(line["usage"].values())
    assert read_object(tmp_path / "spent.json") == {"tokens": spent}
    (tmp_path / "spent.json").write_text('{"tokens": "many"}')
    with pytest.raises(ValueError, match=r"spent.json cannot be read: it holds no number of tokens"):
        evaluate(ExpertModel(), tmp_path, episodes=1)


@pytest.mark.parametrize(
    ("answer", "waits"),
    [
        ((429, {"Retry-After": "7"}, b"slow down"), 7),
        ((429, {"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, b""), 0),
        ((429, {"Retry-After": "soon"}, b""), 1),
        ((503, {"Retry-After": "86400"}, b""), 120),
        ((500, {}, b"oops"), 1),
        ((200, {}, b"<html>"), 1),
        ((200, {}, b'{"choices": []}'), 1),
        ((200, {}, b'{"choices": [{"message": null}]}'), 1),
        ((200, {}, b"[" * 5_000_000), 1),
        ((200, {"Content-Length": "900"}, b"{}"), 1),
    ],
)
def test_what_may_go_away_is_tried_again(answer: tuple[int, dict[str, str], bytes], waits: float) -> None:
    slept: list[float] = []
    with rude(answer, GOOD) as (address, seen):
        reply = Endpoint(address, "model", sleep=slept.append).complete([], [])
    assert reply.message["content"] == "act: left" and reply.prompt_tokens is None
    assert slept == [waits] and len(seen) == 2


def test_a_server_that_drips_is_given_up_in_time() -> None:
    start = time.monotonic()
    with rude(GOOD, pause=0.1) as (address, seen), pytest.raises(ValueError) as error:  # 7 seconds in all
        Endpoint(address, "model", timeout=0.5, tries=2, sleep=lambda seconds: None).complete([], [])
    assert "after 2 tries: no whole answer in time at 127.0.0.1" in str(error.value) and len(seen) == 2
    assert time.monotonic() - start < 4


NEWER = b"Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."


def test_newer_models_get_the_limit_that_they_ask_for() -> None:
    with rude((400, {}, NEWER), (400, {}, NEWER), GOOD) as (address, seen):
        endpoint, other = [Endpoint(address, "model", max_tokens=7, sleep=lambda _: None) for _ in range(2)]
        with pytest.raises(ValueError, match="the server refused: 400"):
            endpoint.complete([], [])  # even so it is refused
        endpoint.complete([], [])
        other.complete([], [])
    sent = [json.loads(each[BODY]) for each in seen]
    old, new = (
        {"model": "model", "messages": [], name: 7} for name in ("max_tokens", "max_completion_tokens")
    )
    assert sent == [old, new, new, old]


def test_a_temperature_that_is_refused_is_not_left_out() -> None:
    why = b"Unsupported value: 'temperature' does not support 0 with this model."
    with rude((400, {}, why)) as (address, seen), pytest.raises(ValueError, match="'temperature' does not"):
        Endpoint(address, "model", temperature=0.0).complete([], [])  # what is written down must be so
    assert len(seen) == 1


def test_what_does_not_go_away_ends_in_one_line() -> None:
    slept: list[float] = []
    with rude((500, {}, b"down\nand out")) as (address, _), pytest.raises(ValueError) as error:
        Endpoint(address, "model", sleep=slept.append, tries=4).complete([], [])
    assert str(error.value).startswith("model did not answer after 4 tries: 500") and slept == [1, 2, 4]
    assert "\n" not in str(error.value)


def test_the_key_goes_to_the_server_and_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_NAME, "sk-secret")
    with rude((401, {}, b"bad key sk-secret")) as (address, seen), pytest.raises(ValueError) as error:
        evaluate_model(Settings("model", "C", episodes=1), Endpoint(address, "model"), tmp_path)
    assert seen[0]["Authorization"] == "Bearer sk-secret"
    assert "bad key ***" in str(error.value) and "sk-secret" not in str(error.value)
    evaluate(lambda *_: say("my key is sk-secret"), tmp_path / "played", episodes=1)
    assert not [path for path in tmp_path.rglob("*.*") if "sk-secret" in path.read_text()]
    with pytest.raises(ValueError, match="over https or to this machine only, not to example"):
        Endpoint("http://example.org/v1", "model")
    late = 401, {}, b" " + b"x" * 292 + b" sk-secret"  # which would be cut in the middle of it
    with rude(late) as (address, _), pytest.raises(ValueError) as error:
        Endpoint(address, "model").complete([], [])
    assert "sk-" not in str(error.value)
    away = 302, {"Location": "http://example.org/"}, b""
    with rude(away) as (address, _), pytest.raises(ValueError, match="the server refused: 302"):
        Endpoint(address, "model").complete([], [])


@pytest.mark.parametrize("address", ["", "ftp://x/v1", "http://", "https://user:sk-secret@example.org/v1"])
def test_an_address_that_is_none(address: str) -> None:
    with pytest.raises(ValueError, match="--base-url is an address") as error:
        Endpoint(address, "model")
    assert "sk-secret" not in str(error.value)


def test_the_official_client_reads_our_server() -> None:
    openai = pytest.importorskip("openai", reason="an optional extra of models")
    with served(ExpertModel()) as address:
        client = openai.OpenAI(base_url=address, api_key="none")
        rules = "The world has one room, room0, of 7 by 7 cells.\nYou may ask\n`explore`"
        seen = (
            "Your task: find mary toy.\nYou are in room0, facing north, floor ahead.\n"
            "Not yet seen in full: rooms 0.\nYou carry nothing."
        )
        messages = [{"role": "system", "content": rules}, {"role": "user", "content": seen}]
        answer = client.chat.completions.create(
            model="expert", messages=messages, tools=describe_tools("asking")
        )
        assert [model.id for model in client.models.list()] == ["afk"]
    (called,) = answer.choices[0].message.tool_calls
    assert called.function.name == "ask" and "mary toy" in called.function.arguments
    assert answer.usage.prompt_tokens > 0 and answer.choices[0].finish_reason == "tool_calls"
