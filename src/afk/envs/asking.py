"""Whom an agent asks, and on what terms: what the command line says of sources, put into an environment."""

from dataclasses import dataclass, replace
from typing import Any

from afk.envs.core import Environment
from afk.knowledge.catalogue import ORACLE, find_source
from afk.knowledge.traits import RANGES, SourceSpec

MODES = NO_QUESTIONS, AS_IT_ASKS, ALL_TOLD = "no-questions", "asking", "all-told"  # what answers are there


@dataclass(frozen=True)
class Asking:
    """A source and its terms.

    Attributes:
        source: its name; see `afk.knowledge.catalogue`.
        sources: what its traits are drawn from, and those of further sources; none for the paper's.
        mode: one of `MODES`: every question is refused, answered, or the answers to Q_t are known from the
            start, which is up to who plays.
    """

    source: str = ORACLE
    sources: tuple[SourceSpec, ...] = ()
    mode: str = AS_IT_ASKS

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"unknown mode {self.mode!r}; it is one of {', '.join(MODES)}")

    @property
    def title(self) -> str:
        """What is not the paper's of it, in words; empty if nothing is."""
        terms = [
            f"{name} {low:g}" if low == high else f"{name} {low:g} to {high:g}"
            for spec in self.sources
            for name in RANGES
            for low, high in (getattr(spec, name),)
            if high
        ]
        terms += [f"{spec.budget} questions" for spec in self.sources if spec.budget]
        source = [] if self.source == ORACLE else [self.source]
        mode = [] if self.mode == AS_IT_ASKS else [self.mode]
        return ", ".join([*source, *terms, *mode])

    def put_into(self, env: Environment[Any]) -> Environment[Any]:
        """The environment with them; a ValueError if it has no room for them."""
        sources = self.sources or env.sources
        if self.mode == NO_QUESTIONS:
            sources = tuple(replace(each, silence=(1.0, 1.0)) for each in sources or (SourceSpec(),))
        env = env.with_sources(sources)
        return env if self.source == ORACLE else env.told_by(find_source(self.source))


PAPERS_ORACLE = Asking()
