"""A language model behind any OpenAI-compatible endpoint, with the facts of the episode in its prompt.

The address is in ``OPENAI_BASE_URL`` and the key in ``OPENAI_API_KEY``; neither is printed or kept.
"""

import time
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from afk.files import parse_json
from afk.knowledge.endpoint import Page, post, read_address, without_refused
from afk.knowledge.free_text import read_answer
from afk.knowledge.keys import without_key
from afk.knowledge.source import Answer, Facts, KnowledgeSource, Session, SessionByQuestion

_PROMPT = (
    "You answer questions in a game. These sentences are all that you know:\n\n{facts}\n\n"
    "Answer a question with the one sentence that answers it, word for word. If none does, answer: "
    "{unknown}. Say nothing else."
)
_AGAIN = (408, 409, 429, 500, 502, 503, 504)  # answers of a server after which one may ask again


def _make_parameters() -> dict[str, Any]:
    """What a model is asked to keep to; it may think before it answers, which counts as well."""
    return {"temperature": 0, "max_tokens": 1_000}


@dataclass(frozen=True)
class LanguageModel(KnowledgeSource):
    """A model that is asked over HTTP.

    Attributes:
        model: its name at the endpoint.
        timeout: seconds until all of an answer must be there.
        retries: how often it is asked again, each time after twice the time.
        wait: seconds before it is asked again for the first time.
        parameters: what is sent with each question; what the endpoint refuses of it is left out from then on.
    """

    model: str = "gpt-4o-mini"
    timeout: float = 20.0
    retries: int = 2
    wait: float = 0.5
    is_deterministic: bool = False
    parameters: dict[str, Any] = field(default_factory=_make_parameters, repr=False, compare=False)

    def __post_init__(self) -> None:
        read_address()  # what is wrong with it is said at once, not in the middle of an episode

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What answers and notes call it."""
        return f"openai:{self.model}"

    def open(self, facts: Facts, seed: int) -> Session:
        """See `KnowledgeSource`."""
        return _ModelSession(self, facts, seed, read_address())


class _ModelSession(SessionByQuestion):
    def __init__(self, model: LanguageModel, facts: Facts, seed: int, address: str) -> None:
        self._model, self._facts, self._seed, self._address = model, facts, seed, address

    def follow(self, facts: Facts) -> None:
        """The prompt holds what is true now."""
        self._facts = facts

    def answer(self, question: str) -> Answer:
        """What the model says; a ValueError of one line if there is no answer of it."""
        unknown = "I don't know"
        facts = "\n".join(fact.answer for fact in self._facts.rows)
        content = {
            "model": self._model.model,
            "seed": self._seed % 2**31,
            "messages": [
                {"role": "system", "content": _PROMPT.format(facts=facts, unknown=unknown)},
                {"role": "user", "content": question},
            ],
        }
        return read_answer(without_key(_text_of(self._post(content))).strip(), self._facts)

    def _post(self, content: dict[str, Any]) -> Any:
        """The endpoint's answer as JSON, asked for again where that may help."""
        problem = "was not asked"
        for attempt in range(self._model.retries + 1):
            if attempt:
                time.sleep(self._model.wait * 2 ** (attempt - 1))
            try:
                page = self._send(content)
                if page.status == HTTPStatus.OK:
                    return parse_json(page.text)
            except ConnectionError as error:
                problem = str(error)
                continue
            except ValueError:
                problem = "answers something that is no JSON"
                continue
            problem = f"answers {page.status} {page.reason}"
            if page.status not in _AGAIN:
                break
        raise ValueError(f"{self._model.name}: the endpoint {urlsplit(self._address).hostname} {problem}")

    def _send(self, content: dict[str, Any]) -> Page:
        """What the endpoint answers to a request with those parameters that the model takes."""
        address, parameters = f"{self._address}/chat/completions", self._model.parameters
        page = post(address, content | parameters, self._model.timeout)
        while page.status == HTTPStatus.BAD_REQUEST:
            fewer = without_refused(parameters, page.text)
            if fewer is None:
                break
            parameters.clear()
            parameters.update(fewer)
            page = post(address, content | parameters, self._model.timeout)
        return page


def _text_of(content: Any) -> str:
    """What the model said."""
    try:
        text = content["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        text = None
    if not isinstance(text, str):
        raise ValueError("the endpoint answers something that is no chat completion")
    return text
