"""The expert's mind in Q-TextWorld: asks where, opens, takes, asks how, and prepares."""

import re

_VERBS = {"sliced": "slice", "diced": "dice", "chopped": "chop"}
_HEATS = {"fried": "stove", "roasted": "oven", "grilled": "griller"}
_PLACE = r"the {name} is (in|on) the ([a-z ]+?)(?: ;|[.;])"


class Cook:
    """Decides from the texts of one game."""

    def __init__(self, *, may_ask: bool, prepares: bool) -> None:
        self._may_ask, self._prepares = may_ask, prepares
        self._wanted: list[str] = []
        self._told = ""
        self._tried: set[str] = set()

    def decide(self, text: str) -> tuple[str, str]:
        """A tool, ``act`` or ``ask``, and what to say."""
        text = text.lower()
        if found := re.search(r"collect some (.*?) to prepare", text):
            self._wanted = [name for name in re.split(r", and |, | and ", found[1]) if name]
        self._told += f" {text.split('you are in a kitchen')[0]}"
        room, _, held = text.rpartition("you are carrying:")
        room = room.split("where to find each ingredient")[-1]
        for name in self._wanted:
            mine = next(
                (each for each in re.split(r"[,.]", held.split("you are told")[0]) if name in each), None
            )
            if mine is None:
                return self._fetch(name, room)
            if self._prepares and (move := self._prepare(name, mine)) is not None:
                return move
        return "act", "take none"

    def _once(self, question: str) -> bool:
        """Whether a question can be asked and was not yet."""
        if not self._may_ask or question in self._tried:
            return False
        self._tried.add(question)
        return True

    def _fetch(self, name: str, room: str) -> tuple[str, str]:
        """How to get hold of something."""
        place = re.search(_PLACE.format(name=name), self._told)
        if place is None and self._once(f"where {name}"):
            return "ask", f"where {name}"
        if (
            place is not None
            and place[1] == "in"
            and "kitchen" not in place[2]
            and place[2] not in self._tried
        ):
            self._tried.add(place[2])
            return "act", f"open {place[2]}"
        if place is None and not re.search(rf"(?:a|an|some) {name}", room):
            for piece in ("fridge", "oven", "griller"):
                if piece not in self._tried:
                    self._tried.add(piece)
                    return "act", f"open {piece}"
        return "act", f"take {name}"

    def _prepare(self, name: str, mine: str) -> tuple[str, str] | None:
        """What is still to be done with something in hand, if anything."""
        recipe = re.search(rf"the {name} needs to be (\w+) and (\w+)", self._told)
        if recipe is None:
            if self._once(f"how {name}"):
                return "ask", f"how {name}"
            recipe = ("", "sliced", "uncooked")
        if recipe[1] in _VERBS and recipe[1] not in mine:
            return "act", f"{_VERBS[recipe[1]]} {name}"
        if recipe[2] in _HEATS and recipe[2] not in mine:
            return "act", f"cook {name} with {_HEATS[recipe[2]]}"
        return None
