"""The expert's mind in Q-BabyAI: what to ask and which macro to say, of a summary of what was seen."""

import re
from collections.abc import Iterator

_THING = re.compile(r"a (\w+ (?:key|ball|box|square))")
_DOOR = re.compile(r"(open|closed|locked) (\w+) door room(\d+)-room(\d+)")


class Scout:
    """Decides from the summaries of one episode; see `SeenMap.describe`.

    Attributes:
        danger: the colour of dangerous tiles, once known.
        target: what is sought, once known.
        room: the room that it is in, once told.
        key: the colour of the key that fits, once known.
    """

    def __init__(self, *, may_ask: bool) -> None:
        self._may_ask = may_ask
        self.danger: str | None = None
        self.target: str | None = None
        self.room: int | None = None
        self.key: str | None = None
        self._toy: dict[str, str] = {}
        self._owner: dict[str, str] = {}
        self._suitcase: dict[str, str] = {}
        self._rooms: dict[str, int] = {}
        self._asked: set[str] = set()
        self._said = ""
        self._barred: set[str] = set()  # macros to which no way is known while things are as they are
        self.doors: list[tuple[str, str, tuple[int, int]]] = []
        self.things: dict[str, int] = {}
        self.unseen: set[int] = set()
        self.carried = ""

    def decide(self, text: str) -> tuple[str, str]:
        """A tool, ``act`` or ``ask``, and what to say."""
        self._listen(text)
        before = self.doors, self.things, self.unseen, self.carried
        self._look(text)
        if before != (self.doors, self.things, self.unseen, self.carried):
            self._barred.clear()
        if text.startswith("Invalid: no way"):
            self._barred.add(self._said)
        if (question := self._wonder()) is not None and question not in self._asked and self._may_ask:
            self._asked.add(question)
            return "ask", question
        avoiding = f" avoiding {self.danger} tiles" if self.danger else ""
        return "act", f"{self._go()}{avoiding}"

    def _listen(self, text: str) -> None:
        """Take in what was answered or told."""
        mission = re.search(r"Your task: (.*)\.", text)
        self.mission = mission[1] if mission else ""
        told = re.findall(r'The answer: "(.*)"', text) + re.findall(r"You are told: (.*)\.", text)
        for answer in [part for line in told for part in line.split("; ")]:
            answer = answer.split(", ")[-1]  # noise stands before a comma
            if found := re.fullmatch(r"danger zone is (\w+)", answer):
                self.danger = found[1]
            elif found := re.fullmatch(r"(\w+) toy is (\w+ \w+)", answer):
                self._toy[found[1]] = found[2]
            elif found := re.fullmatch(r"(\w+ ball) in (\w+) suitcase", answer):
                self._owner[found[1]] = found[2]
            elif found := re.fullmatch(r"(\w+) suitcase is (\w+ box)", answer):
                self._suitcase[found[1]] = found[2]
            elif found := re.fullmatch(r"(\w+) key to the door", answer):
                self.key = found[1]
            elif found := re.fullmatch(r"(\w+ \w+) in room(\d+)", answer):
                self._rooms[found[1]] = int(found[2])

    def _look(self, text: str) -> None:
        """Take in what was seen."""
        place = re.search(r"You are in (.*), facing \w+, (.*) ahead", text)
        assert place is not None, text
        self.here = [int(room) for room in re.findall(r"room(\d+)", place[1])]
        self.ahead = place[2]
        self.things = {
            thing: int(room)
            for room, names in re.findall(r"^room(\d+): (.*)\.$", text, re.M)
            for thing in _THING.findall(names)
        }
        self.doors = [(state, colour, (int(a), int(b))) for state, colour, a, b in _DOOR.findall(text)]
        unseen = re.search(r"Not yet seen in full: rooms (.*)\.", text)
        self.unseen = {int(room) for room in unseen[1].split(", ")} if unseen else set()
        self.carried = text.split("You carry ")[1].split(".")[0].removeprefix("a ")
        self.rooms = 1 + max([*self.here, *self.unseen, *(room for door in self.doors for room in door[2])])

    def _wonder(self) -> str | None:
        """What should be known now and is not; where nothing can be asked, it is guessed instead."""
        if "danger zone" in self.mission and self.danger is None:
            if self._may_ask:
                return "what is the danger zone"
            self.danger = "blue"
        self._seek()
        if isinstance(question := self._missing, str):
            return question
        known = {*self.things, *self._rooms, "green square"}
        if self.target and self.target not in known and self.rooms > 1:
            return f"where is the {self.target}"
        if self._is_locked_out() and self.key is None and "locked" in self.ahead:
            return "what is the key"
        if self.key and f"{self.key} key" not in (*self.things, self.carried, *self._rooms):
            return f"where is the {self.key} key"
        return None

    def _seek(self) -> None:
        """Find out what is sought, or what has to be asked first."""
        self._missing: str | None = None
        if "green square" in self.mission:
            self.target = "green square"
        elif owner := re.search(r"(go to|find) (\w+) toy", self.mission):
            self.target, self._missing = self._resolve(owner[1], owner[2])
        if self.target is None and not self._may_ask and "toy" in self.mission:
            kind = "box" if "find" in self.mission.split(",")[-1] else "b"
            self.target = next((thing for thing in self.things if kind in thing), None)
        self.room = self._rooms.get(self.target or "")

    def _resolve(self, how: str, name: str) -> tuple[str | None, str | None]:
        """The thing that is somebody's toy or holds it, or the question that leads on."""
        if (toy := self._toy.get(name)) is None:
            return None, f"what is {name} toy"
        if how == "go to":
            return toy, None
        if (other := self._owner.get(toy)) is None:
            return None, f"where is the {toy}"
        if (box := self._suitcase.get(other)) is None:
            return None, f"what is {other} suitcase"
        return box, None

    def _reachable(self) -> set[int]:
        """The rooms to which doors that are not locked lead."""
        found, size = set(self.here), 0
        while size < len(found):
            size = len(found)
            for state, _, pair in self.doors:
                if state != "locked" and found.intersection(pair):
                    found |= set(pair)
        return found

    def _is_locked_out(self) -> bool:
        """Whether a lock has to be opened: it is the goal, or what is sought lies behind one."""
        if "key to the door" not in self.mission:
            return False
        return self.target is None or self.things.get(self.target) not in self._reachable()

    def _go(self) -> str:
        """The macro to say: the best to which a way is known."""
        self._said = next((each for each in self._options() if each not in self._barred), "explore")
        return self._said

    def _options(self) -> Iterator[str]:
        """Macros that may lead on, the best first."""
        near = self._reachable()
        if self.target in self.things and self.things[self.target] in near:
            yield f"{'open' if 'find' in self.mission.split(', ')[-1] else 'go to'} the {self.target}"
        locked = [
            (colour, pair) for state, colour, pair in self.doors if state == "locked" and near & {*pair}
        ]
        if self._is_locked_out() and locked:
            yield from self._unlock(locked, near)
        elif self.room in near and self.room in self.unseen and self.room not in self.here:
            yield f"go to room{self.room}"

    def _unlock(self, locked: list[tuple[str, tuple[int, int]]], near: set[int]) -> Iterator[str]:
        """What leads through one of some locked doors."""
        locked = sorted(locked, key=lambda door: self.room not in door[1])
        doors = [
            f"the locked {colour} door to room{next((room for room in pair if room not in near), pair[0])}"
            for colour, pair in locked
        ]
        if self.key is None and self._may_ask:
            yield from (f"go to {door}" for door in doors)
            return
        key = f"{self.key} key" if self.key else next((each for each in self.things if "key" in each), "")
        if self.carried.endswith("key") and (not self.key or self.carried == key):
            yield from (f"open {door}" for door in doors)
        elif key in self.things and self.things[key] in near:
            yield f"pick up the {key}"
        elif (room := self._rooms.get(key)) in near and room in self.unseen and room not in self.here:
            yield f"go to room{room}"
