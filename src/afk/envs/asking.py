"""Whom an agent asks, and on what terms: what the command line says of sources, put into an environment."""

from dataclasses import dataclass
from typing import Any

from afk.envs.core import Environment
from afk.knowledge.catalogue import find_source
from afk.knowledge.traits import SourceSpec

ORACLE = "oracle"


@dataclass(frozen=True)
class Asking:
    """A source and its terms.

    Attributes:
        source: its name; see `afk.knowledge.catalogue`.
        sources: what its traits are drawn from, and those of further sources; none for the paper's.
    """

    source: str = ORACLE
    sources: tuple[SourceSpec, ...] = ()

    def put_into(self, env: Environment[Any]) -> Environment[Any]:
        """The environment with them; a ValueError if it has no room for them."""
        env = env.with_sources(self.sources or env.sources)
        return env if self.source == ORACLE else env.told_by(find_source(self.source))


PAPERS_ORACLE = Asking()
