"""Commands and questions as text: read, written, and listed (paper, appendix A.2)."""

import re

import jax
import numpy as np

from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import NEVER, UNUSED, State, can_be_cut, can_be_seen, has_knife
from afk.envs.qtextworld.world.things import HEATS, IS_CONTAINER, PIECES, THINGS
from afk.language import NONE

_ADDRESS = f"ask {words.ORACLE.lower()} "
_SKIPPED = ("the", "a", "an", "some", "one", "to", "is")


def read_command(task: Task, text: str) -> np.ndarray:
    """A command or a question as an action, (3,) int32; a ValueError if it is none.

    Questions are addressed to the oracle, ``ask Charlie where's the parsley?`` or ``ask Charlie how to cut
    the hot pepper``; articles may be left out. Commands are a verb and a name, ``take red apple from fridge``
    or less; ``cook red apple with oven`` is ``roast red apple``.
    """
    if not isinstance(text, str):
        raise ValueError(f"a command is text, not {type(text).__name__}")
    line = re.sub(r"[?.!,]", " ", text.lower()).replace("where's", "where is")
    line = " ".join(line.split())
    is_query = line.startswith(_ADDRESS)
    for verb, heat in zip(words.FUNCTIONS, HEATS, strict=False):
        line = re.sub(rf"^cook (.*) with (?:the )?{heat}$", rf"{verb} \1", line)
    # What a thing is taken from, or cut with, is no part of its name.
    line = line.removeprefix(_ADDRESS) if is_query else re.sub(r" (from|with) .*", "", line)
    function, *name = [word for word in line.split() if word not in _SKIPPED] or [""]
    if is_query and function == "how" and len(name) > 1 and name[0] in ("cut", "cook"):
        name = name[1:]
    if is_query != (function in ("where", "how")) or function not in task.functions:
        verbs = ", ".join(word for word in task.functions if word not in ("where", "how"))
        raise ValueError(
            f"cannot read {text!r}; write {verbs} or `ask {words.ORACLE} where`, `ask {words.ORACLE} how`, "
            "and a name"
        )
    if len(name) == 1:
        name = [NONE, *name]
    if len(name) != 2 or name[0] not in words.ADJECTIVES or name[1] not in words.NOUNS:
        raise ValueError(
            f"cannot read {text!r}: a name is a noun or an adjective and a noun, such as `red apple`"
        )
    indices = task.functions.index(function), words.ADJECTIVES.index(name[0]), words.NOUNS.index(name[1])
    return np.array(indices, np.int32)


def write_command(task: Task, action: np.ndarray) -> str:
    """An action, (3,) int, as the text that the engine and the oracle read."""
    function, adjective, noun = (int(each) for each in action)
    verb, name = task.functions[function], f"{words.ADJECTIVES[adjective]} {words.NOUNS[noun]}"
    address = _ADDRESS if verb in ("where", "how") else ""
    return f"{address}{verb} {name.removeprefix(f'{NONE} ')}"


def describe_rules(task: Task) -> str:
    """What a player has to know before the first step of a task, whatever the game."""
    lines = [
        "You are in a kitchen, and are told which ingredients to collect. They lie in the open, on furniture "
        "or in containers that are shut.",
    ]
    if task.prepares:
        knife = " Cutting takes the knife in your hands." if task.cut else ""
        lines.append(
            f"Each ingredient has to be prepared in one way, once you hold it.{knife} Another way, or one "
            "too many, ends the game in failure."
        )
    ready = ", prepared as they should be," if task.prepares else ""
    lines.append(
        f"Holding all ingredients{ready} is success. Everything you do takes one of {task.max_steps} steps."
    )
    return "\n".join(lines)


def describe_commands(task: Task) -> str:
    """What can be written to act, as a sentence."""
    ways = ["`open FURNITURE`", "`take NAME`"]
    ways += [f"`{words.FUNCTIONS[verb]} NAME`" for verb in words.CUT_VERBS] if task.cut else []
    ways += [f"`cook NAME with {heat}`" for heat in HEATS[:3]] if task.cook else []
    return f"Commands are {', '.join(ways)}; a name is a noun, or an adjective and a noun."


def possible_commands(task: Task, state: State) -> tuple[str, ...]:
    """The physical commands that would be carried out, as TextWorld writes them, by the alphabet."""
    state = jax.device_get(state)
    game, shows = state.game, np.asarray(can_be_seen(state))
    cuttable = np.asarray(can_be_cut(state) & has_knife(state))
    holders = [f" from {PIECES[piece].name}" for piece in game.pieces] + [""]
    closed = np.flatnonzero(IS_CONTAINER[game.pieces] & ~state.is_open)
    commands = [f"open {PIECES[game.pieces[slot]].name}" for slot in closed]
    for slot in np.flatnonzero(game.things != UNUSED):
        name, place = THINGS[game.things[slot]].name, int(state.place[slot])
        if place < len(holders):
            commands += [f"take {name}{holders[place]}"] if shows[place] else []
            continue
        if cuttable[slot]:
            commands += [f"{words.FUNCTIONS[verb]} {name} with knife" for verb in words.CUT_VERBS]
        if task.cook and state.heat[slot] != NEVER:
            commands += [f"cook {name} with {heat}" for heat in HEATS]
    return tuple(sorted(commands))
