"""What the oracle must say of a level: true and complete facts, and answers that lead to the target.

Checks are as in `level_checks`: by name, which of many levels are as they should be.
"""

import numpy as np

from afk.envs.qbabyai.world.goals import FACE, OPEN_BOX

from .levels import (
    ANY_KEY,
    BALL,
    BLUE,
    BOX,
    COLOUR_WORDS,
    COLOURS,
    CONTENT,
    DANGER,
    DOORS,
    FITTING,
    FORMS,
    GREEN,
    KEY,
    KIND_WORDS,
    KINDS,
    NAME_WORDS,
    OPEN,
    PLACE,
    SQUARE,
    SUITCASE,
    TOY,
    UNKNOWN,
    WHERE,
    Checks,
    Levels,
    at_room,
    code_of,
    question,
)

EVERYWHERE, ON_THE_SPOT, NEVER = 0, 1, 2


def fact_checks(levels: Levels) -> Checks:
    """The oracle tells the truth, the whole truth, and each thing once."""
    oracle, suits = levels.oracle, levels.expected.suits
    count, used = len(levels), oracle.codes != UNKNOWN
    form, colour = oracle.form[oracle.answer], oracle.colour[oracle.answer]
    kind, room = oracle.kind[oracle.answer], oracle.room[oracle.answer]
    order = np.sort(np.where(used, oracle.codes, -1 - np.arange(used.shape[1])), axis=1)
    scope = np.where(form == FITTING, ON_THE_SPOT, EVERYWHERE)
    checks = {
        "every fact is a sentence of the specification": (form >= 0) | ~used,
        "a fact answers its own question": (oracle.question_of()[oracle.answer] == oracle.codes) | ~used,
        "only the key's fact is bound to a place": np.where(
            used, oracle.scope == scope, oracle.scope == NEVER
        ),
        "no question has two facts": (order[:, 1:] != order[:, :-1]).all(1),
    }
    stored = np.zeros((count, 16, 8, 10), bool)
    level, y, x = np.nonzero(np.isin(levels.kind, (*DOORS, KEY, BALL, BOX, SQUARE)))
    place = levels.kind[level, y, x], levels.colour[level, y, x]
    stored[level, np.where(np.isin(place[0], DOORS), OPEN, place[0]), place[1], levels.room[y, x]] = True
    is_where = used & (form == WHERE)
    checks["things are where the oracle says"] = (
        ~is_where | stored[np.arange(count)[:, None], kind, colour, room]
    )
    for word, code in KINDS.items():
        for each, colour_name in enumerate(COLOURS):
            answer = oracle.ask(question("where", colour_name, word))
            knows_room = (answer != UNKNOWN) & (oracle.form[answer] == WHERE)
            checks[f"where {colour_name} {word} is known if it is there"] = knows_room == stored[
                :, code, each
            ].any(-1)
    amounts = {
        TOY: 2,
        CONTENT: 2 * ("C" in suits),
        SUITCASE: 2 * ("C" in suits),
        WHERE: stored.any(-1).sum((1, 2)),
        DANGER: "S" in suits,
        FITTING: "H" in suits,
        PLACE: 3,
    }
    for (name, _), each, amount in zip(FORMS.items(), amounts, amounts.values(), strict=True):
        checks[f"as many facts about {name} as there is to know"] = (used & (form == each)).sum(1) == amount
    if "C" in suits:
        for each in (BLUE, GREEN):
            owner = oracle.name[oracle.ask(question("where", COLOURS[each], "ball"))]
            box = oracle.colour[oracle.ask(question("what", NAME_WORDS[owner], "suitcase"))]
            held = at_room(np.asarray(levels.level.contents), box)
            checks[f"the {COLOURS[each]} ball is in the box that the oracle says"] = held == BALL * 8 + each
    return checks


def query_checks(levels: Levels) -> Checks:
    """The good queries are the specification's, all are answered, and their answers lead to the target."""
    oracle, expected, count = levels.oracle, levels.expected, len(levels)
    checks: Checks = {}
    wanted: dict[str, np.ndarray] = {}

    def ask(letter: str, code: np.ndarray, form: int, *, on_the_spot: bool = False) -> np.ndarray:
        wanted[letter] = np.broadcast_to(code, (count,))
        answer = oracle.ask(code, on_the_spot=on_the_spot)
        checks[f"query {letter} is answered"] = (answer != UNKNOWN) & (oracle.form[answer] == form)
        return answer

    def check_room(letter: str, answer: np.ndarray, is_it: np.ndarray) -> None:
        holds = levels.room_holds(is_it)
        checks[f"the answer to {letter} is the true room"] = at_room(holds, oracle.room[answer])

    name = NAME_WORDS[levels.name]
    is_target = levels.grid == levels.target[:, None, None]
    if "S" in expected.suits:
        answer = ask("d", question("what", "danger", "zone"), DANGER)
        checks["the oracle knows the danger"] = oracle.colour[answer] == levels.danger
    if expected.goal == OPEN_BOX:
        toy = ask("t", question("what", name, "toy"), TOY)
        checks["the toy is a ball"] = oracle.kind[toy] == BALL
        content = ask("b", question("where", COLOUR_WORDS[oracle.colour[toy]], "ball"), CONTENT)
        owner = oracle.name[content]
        checks["the toy is in the other's suitcase"] = owner == 1 - levels.name
        suitcase = ask("s", question("what", NAME_WORDS[owner], "suitcase"), SUITCASE)
        box = oracle.colour[suitcase]
        checks["the chain leads to the target"] = levels.target == BOX * 8 + box
        if expected.rooms > 1:
            check_room("x", ask("x", question("where", COLOUR_WORDS[box], "box"), WHERE), is_target)
    if expected.goal == FACE:
        toy = ask("t", question("what", name, "toy"), TOY)
        colour, kind = oracle.colour[toy], oracle.kind[toy]
        checks["the toy is the target"] = levels.target == kind * 8 + colour
        other = oracle.ask(question("what", NAME_WORDS[1 - levels.name], "toy"))
        code = (oracle.kind[other] * 8 + oracle.colour[other])[:, None, None]
        checks["the other's toy is another candidate"] = (code[:, 0, 0] != levels.target) & (
            (levels.grid == code) & levels.candidates
        ).any((1, 2))
        if expected.rooms > 1:
            check_room(
                "w", ask("w", question("where", COLOUR_WORDS[colour], KIND_WORDS[kind]), WHERE), is_target
            )
    if "H" in expected.suits:
        answer = ask("k", question(*ANY_KEY), FITTING, on_the_spot=True)
        fitting = oracle.colour[answer]
        checks["the oracle knows the key"] = fitting == levels.key_colour
        checks["it tells of the key beside the lock only"] = oracle.ask(question(*ANY_KEY)) == UNKNOWN
        if expected.keys_apart:
            is_key = levels.lock_keys & (levels.colour == fitting[:, None, None])
            check_room("l", ask("l", question("where", COLOUR_WORDS[fitting], "key"), WHERE), is_key)
    good = np.sort(code_of(np.asarray(levels.level.good_queries)), axis=1)
    padding = np.full((count, good.shape[1] - len(wanted)), UNKNOWN)
    listed = np.sort(np.concatenate([np.stack(list(wanted.values()), 1), padding], axis=1), axis=1)
    checks["the good queries are those that lead to the target"] = (good == listed).all(1)
    checks["they are the specification's"] = np.full(count, sorted(wanted) == sorted(expected.questions))
    return checks
