"""What a player is told before the first step: the world's rules, what can be done, and how to ask."""

from typing import Any

from afk.envs.asking import MODES
from afk.envs.core import Environment
from afk.envs.registry import world_of
from afk.play.macros import ALLOWED

_MACROS = (
    f"Say one of: {ALLOWED}. Ways are found for you over what you have seen, shut doors opened on the way. "
    "`explore` goes on until more is in view. Of doors that look alike name the one `to roomN`. Where tiles "
    "can be dangerous, say which to avoid, `explore avoiding purple tiles`; else you will not walk over any."
)


def check_mode(mode: str) -> str:
    """The mode; a ValueError if there is no such."""
    if mode not in MODES:
        raise ValueError(f"unknown mode {mode!r}; it is one of {', '.join(MODES)}")
    return mode


def write_rules(env: Environment[Any], *, mode: str, macros: bool) -> str:
    """The rules of the one task of an environment."""
    text = world_of(env).text
    parts = [text.rules(env), _MACROS if macros else text.acting(env)]
    if mode == "asking":
        parts.append(
            f"You may ask somebody who knows this world but not your task; a question takes a step. "
            f"{text.asking(env)} Some things can be answered only at the place that they are about."
        )
    return "\n".join(part for part in parts if part)
