"""Sources by the names that the command line knows."""

from collections.abc import Callable

from afk.knowledge.documents import Documents
from afk.knowledge.human import Human
from afk.knowledge.language_model import LanguageModel
from afk.knowledge.oracle import Oracle
from afk.knowledge.source import KnowledgeSource
from afk.knowledge.sql import Sql
from afk.plugins import load_plugins

ORACLE = "oracle"
_MODEL = "openai:"
SOURCES: dict[str, tuple[Callable[[], KnowledgeSource], str]] = {
    ORACLE: (Oracle, "the oracle of the paper: what is true now, at once"),
    "sql": (Sql, "a database in memory that can only be read: facts(function, adjective, noun, answer)"),
    "documents": (Documents, "letters, notices and diaries, searched by their words (bm25)"),
    "human": (Human, "you, at the terminal"),
}
MODEL_HELP = "a language model at OPENAI_BASE_URL, such as openai:gpt-4o-mini; its key is OPENAI_API_KEY"


def register_source(name: str, make: Callable[[], KnowledgeSource], title: str) -> None:
    """Make a source known by its name, for this process."""
    if SOURCES.get(name, (make,))[0] is not make:
        raise ValueError(f"a source named {name!r} is registered already")
    SOURCES[name] = make, title


def find_source(name: str) -> KnowledgeSource:
    """The source of a name; a ValueError if there is none."""
    if name.startswith(_MODEL) and len(name) > len(_MODEL):
        return LanguageModel(model=name.removeprefix(_MODEL))
    load_plugins()
    if name not in SOURCES:
        raise ValueError(f"unknown source {name!r}; it is one of {', '.join(SOURCES)}, openai:MODEL")
    return SOURCES[name][0]()
