"""An expert that reads only what a model reads: rules and observations in, lines out.

It shows that every task can be won from text alone, plays the part of a model in tests, and its episodes are
what `afk export` writes. In Q-BabyAI it decides in macros, of a summary of what was seen. Where lines are
single actions it draws its own map from the text, and plans over that.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from afk.envs.qbabyai.world import cells
from afk.play.cook import Cook
from afk.play.draw import MapReader
from afk.play.macros import carry_out, read_macro
from afk.play.scout import Scout

_FOR_THE_SCOUT = "Your task|The answer|You are told"
_TRIES = 5  # macros that turn out to take no action


class Move(NamedTuple):
    """What to do.

    Attributes:
        tool: ``act`` or ``ask``.
        line: what to say.
    """

    tool: str
    line: str


class Expert(Protocol):
    """Somebody who plays by reading."""

    def reply(self, observation: str) -> Move:
        """What to do after an observation."""
        ...


def make_expert(rules: str) -> Expert:
    """An expert for an episode with these rules, as a player reads them."""
    if "kitchen" in rules.split("\n")[0]:
        return _CookExpert(rules)
    return _MacroExpert(rules) if "`explore`" in rules else _StepExpert(rules)


class _CookExpert:
    def __init__(self, rules: str) -> None:
        self._cook = Cook(may_ask="You may ask" in rules, prepares="prepared in one way" in rules)

    def reply(self, observation: str) -> Move:
        """See `Expert`."""
        return Move(*self._cook.decide(observation))


class _MacroExpert:
    def __init__(self, rules: str) -> None:
        self._scout = Scout(may_ask="You may ask" in rules)

    def reply(self, observation: str) -> Move:
        """See `Expert`."""
        return Move(*self._scout.decide(observation))


class _StepExpert:
    def __init__(self, rules: str) -> None:
        self._scout, self._reader = Scout(may_ask="You may ask" in rules), MapReader(rules)
        self._actions: Iterator[int] = iter(())

    def reply(self, observation: str) -> Move:
        """The next action of the macro under way, or of the next one."""
        seen = self._reader.read(observation)
        rest = "\n".join(line for line in observation.split("\n") if re.match(_FOR_THE_SCOUT, line))
        for _ in range(_TRIES):
            for action in self._actions:
                return Move("act", cells.ACTIONS[action])
            tool, line = self._scout.decide(f"{rest}\n{seen.describe()}")
            if tool == "ask":
                return Move(tool, line)
            try:
                self._actions = carry_out(read_macro(line, seen), seen)
            except ValueError as error:
                rest = f"Invalid: {error}\n{rest}"
        return Move("act", "done")
