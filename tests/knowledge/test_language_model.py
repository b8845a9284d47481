"""A language model as a source: what it is asked, and what happens when its endpoint is a bad one."""

import contextlib
import json
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from afk.knowledge.catalogue import find_source
from afk.knowledge.language_model import LanguageModel

from ..command import Run
from .sentences import FACTS


class _Endpoint(BaseHTTPRequestHandler):
    """Answers as its server's list says, in turn."""

    def do_POST(self) -> None:
        server: Any = self.server
        server.asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        code, content = server.answers.pop(0)
        if code < 100:
            self._drip(content)
            return
        self.send_response(code)
        if code == 302:
            self.send_header("Location", content)
        self.end_headers()
        self.wfile.write(content.encode())

    def _drip(self, content: str) -> None:
        """Send something that need not be HTTP; the rest of it byte by byte, after a bar."""
        at_once, _, slowly = content.partition("|")
        with contextlib.suppress(OSError):
            self.wfile.write(at_once.encode())
            for letter in slowly:
                time.sleep(0.1)
                self.wfile.write(letter.encode())

    def do_GET(self) -> None:
        server: Any = self.server
        server.asked.append(self.headers["Authorization"])
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def completion(text: str) -> tuple[int, str]:
    return 200, json.dumps({"choices": [{"message": {"content": text}}]})


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Any:
    server: Any = HTTPServer(("127.0.0.1", 0), _Endpoint)
    server.answers, server.asked = [], []
    thread = Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_language_model_is_asked_with_the_facts(endpoint: Any) -> None:
    session = LanguageModel(model="small", wait=0.01).open(FACTS, 1)
    said = (
        "Jack toy is  blue ball.",
        "No idea.",
        "I don\u2019t know.",
        "I'm sorry, I can't.",
        "It is red.",
        "",
    )
    endpoint.answers = [(503, "busy"), *map(completion, said)]
    answers = session.ask(["what jack toy"] * len(said))
    kinds = [answer.kind for answer in answers]
    assert kinds == ["told", "unknown", "unknown", "refused", "told", "unknown"]
    assert [answer.facts for answer in answers] == [(0,), *[()] * 5]
    assert "red key in room1" in endpoint.asked[0]["messages"][0]["content"] and len(endpoint.asked) == 7


@pytest.mark.parametrize(
    ("answers", "problem"),
    [
        ([(401, "no")], "answers 401"),
        ([(500, "no")] * 2, "answers 500"),
        ([(200, "nonsense")] * 2, "no JSON"),
        ([(200, "{}")], "no chat completion"),
        ([(200, "[" * 200_000)] * 2, "no JSON"),
        ([(0, "nonsense secret-key\r\n\r\n")] * 2, "no HTTP"),
        ([(0, "HTTP/1.1 200 fine\r\nContent-Length: 9\r\n\r\n{")] * 2, "no JSON"),
        ([(0, "")] * 2, "cannot be reached"),
        ([(0, "HTTP/1.1 404 secret-key\r\n\r\n")], r"answers 404 \*\*\*$"),
    ],
)
def test_what_is_wrong_with_an_endpoint_is_one_line(endpoint: Any, answers: Any, problem: str) -> None:
    endpoint.answers = list(answers)
    with pytest.raises(ValueError, match=problem) as raised:
        LanguageModel(retries=1, wait=0.01).open(FACTS, 0).ask(["what key"])
    assert "secret-key" not in str(raised.value) and "\n" not in str(raised.value)


def test_what_a_model_refuses_to_be_sent_is_left_out(endpoint: Any) -> None:
    refusals = (
        "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
        "Unsupported value: 'temperature' does not support 0 with this model.",
    )
    bad = [(400, json.dumps({"error": {"message": text}})) for text in refusals]
    endpoint.answers = [*bad, *[completion("red key to the door")] * 2, (400, "no such model")]
    model = LanguageModel(retries=0)
    for seed in (0, 1):
        assert model.open(FACTS, seed).ask(["what key"])[0].facts == (3,)
    with pytest.raises(ValueError, match="answers 400"):
        model.open(FACTS, 2).ask(["what key"])
    sent = [{"temperature", "max_tokens", "max_completion_tokens"} & each.keys() for each in endpoint.asked]
    later = {"max_completion_tokens"}
    assert sent == [{"temperature", "max_tokens"}, {"temperature", *later}, later, later, later]
    assert {"model", "messages"} <= endpoint.asked[-1].keys()


@pytest.mark.parametrize("start", ["", "HTTP/1.1 200 fine\r\n", "HTTP/1.1 200 fine\r\n\r\n"])
def test_an_endpoint_that_drips_is_not_waited_for(endpoint: Any, start: str) -> None:
    endpoint.answers = [(0, f"{start}|{' ' * 20}")]
    before = time.monotonic()
    with pytest.raises(ValueError, match=r"gave no answer within 0\.4 seconds"):
        LanguageModel(retries=0, timeout=0.4).open(FACTS, 0).ask(["what key"])
    assert time.monotonic() - before < 1.5


def test_the_key_is_for_the_endpoint_alone(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint.answers = [completion("red key to the door, says secret-key"), (302, "/elsewhere")]
    session = LanguageModel(retries=0).open(FACTS, 0)
    assert session.ask(["what key"])[0].text == "red key to the door, says ***"
    with pytest.raises(ValueError, match="answers 302"):
        session.ask(["what key"])
    assert len(endpoint.asked) == 2 and not endpoint.answers
    monkeypatch.setenv("OPENAI_BASE_URL", "http://example.org/v1")
    with pytest.raises(ValueError, match="over https or to this machine only, not to example"):
        LanguageModel().open(FACTS, 0)


def test_the_key_is_not_for_proxies(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    endpoint.answers = [completion("red key to the door")]
    assert LanguageModel(retries=0).open(FACTS, 0).ask(["what key"])[0].facts == (3,)


@pytest.mark.parametrize("key", ["x", "1", "null", "mary", "choices", '"message"', "content\\"])
def test_a_key_that_is_a_word_changes_no_reply(
    endpoint: Any, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    endpoint.answers = [completion("blue ball in mary suitcase")]
    (answer,) = LanguageModel(retries=0).open(FACTS, 0).ask(["where blue ball"])
    assert answer.text == "blue ball in mary suitcase" and answer.facts == (1,)


def test_an_endpoint_that_is_down_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ValueError, match="cannot be reached"):
        LanguageModel(retries=0, timeout=1).open(FACTS, 0).ask(["what key"])


@pytest.mark.parametrize(
    "address",
    [
        "nowhere",
        "http://",
        "http://a b/v1",
        "http://[::1/v1",
        "http://a:x/v1",
        "http://a:99999/v1",
        "ftp://a/v1",
    ],
)
def test_an_address_that_makes_no_sense_is_said_at_once(
    address: str, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ValueError, match="OPENAI_BASE_URL is an address such as"):
        find_source("openai:small")
    done = run("watch", "expert", "--task", "C", "--source", "openai:small")
    assert done.code == 2 and done.err.count("\n") == 1
    monkeypatch.setenv("OPENAI_BASE_URL", "http://somebody:secret@example.org/v1")
    with pytest.raises(ValueError, match="OPENAI_BASE_URL is an address such as") as raised:
        LanguageModel()
    assert "secret" not in str(raised.value)
