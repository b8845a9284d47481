"""Q-TextWorld over TextWorld's own engine: the judge of the tensor engine, and for users who want the engine.

The engine plays a few hundred steps a second. Lists are in the order of the alphabet, as in `QTextWorld`: the
engine's own order changes with Python's hash seed.
"""

from typing import Any, NamedTuple

import jax.numpy as jnp

from afk.envs.qtextworld.commands import read_command, write_command
from afk.envs.qtextworld.levels.grammar import is_met, render, textworld
from afk.envs.qtextworld.levels.maker import number_of, recipe_of, room_of, states_of
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import Observation
from afk.envs.qtextworld.world.things import HEATS
from afk.language import Vocabulary


class Step(NamedTuple):
    """What a command led to.

    Attributes:
        observation: the same tokens as those of `QTextWorld`.
        answer: what the oracle said, or nothing.
        score: what the game has paid so far.
        terminated: the game is won or lost.
        truncated: the steps are used up.
        success: the game is won.
    """

    observation: Observation
    answer: str
    score: float
    terminated: bool
    truncated: bool
    success: bool


class Reference:
    """A game in TextWorld's engine, with the oracle beside it; `reset` takes a game, `step` a command."""

    def __init__(self, task: Task, vocabulary: Vocabulary) -> None:
        self.task, self.vocabulary = task, vocabulary
        package = textworld()
        self._engine = textworld("textworld.envs.tw").TextWorldEnv(package.EnvInfos(facts=True))
        self._inform = textworld("textworld.generator.inform7").Inform7Game

    def reset(self, game: Any) -> Observation:
        """Start a game that `make_game` made."""
        self._game, self._engine._game, self._engine._inform7 = game, game, self._inform(game)
        self._state, self._steps = self._engine.reset(), 0
        return self._observe(game.objective, "")

    @property
    def commands(self) -> tuple[str, ...]:
        """The physical commands of the task that the engine would carry out now, by the alphabet."""
        verbs = {"take", "open", "slice", "dice", "chop", *(["cook"] if self.task.cook else [])}
        return tuple(each for each in self._state["admissible_commands"] if each.split()[0] in verbs)

    def step(self, command: str) -> Step:
        """Act or ask, in any words that `read_command` reads."""
        command = write_command(self.task, read_command(self.task, command))
        question = command.removeprefix(f"ask {words.ORACLE.lower()} ")
        answer = ""
        if question != command:
            feedback = answer = self._answer(*question.split(" ", 1))
            self._engine.step("look")
        else:
            feedback = self._act(command)
        self._state = self._engine.state
        self._steps += 1
        won, lost = self._state["won"], self._state["lost"]
        return Step(
            observation=self._observe(feedback, answer),
            answer=answer,
            score=float(self._state["score"]),
            terminated=won or lost,
            truncated=self._steps >= self.task.max_steps and not (won or lost),
            success=won,
        )

    def _act(self, command: str) -> str:
        """Carry out a command, completed if only one can be meant; gives the feedback."""
        verb, name = command.split(" ", 1)
        ending = ""
        if verb in ("fry", "roast", "grill"):
            command, ending = f"cook {name}", f" with {HEATS[words.FUNCTIONS.index(verb)]}"
        meant = [each for each in self.commands if each.startswith(command) and each.endswith(ending)]
        state, _, _ = self._engine.step(meant[0] if len(meant) == 1 else command)
        if state["_last_action"] is None:
            return state.feedback
        return words.FEEDBACK[words.FUNCTIONS.index(verb)]

    def _answer(self, function: str, name: str) -> str:
        """What the oracle says, read off the engine's facts."""
        facts = self._state["facts"]
        if function == "where":
            for fact in facts:
                if fact.name in ("at", "in", "on") and fact.names[0] == name:
                    preposition, holder = "on" if fact.name == "on" else "in", fact.names[1]
                    if holder == "I":
                        return f"You have the {name} on you."
                    return f"The {name} is {preposition} the {holder}."
            return f"You won't find any {name} in here."
        if all(info.name != name for info in self._game.infos.values()):
            return f"The {name} cannot be cut nor cooked."
        cut, cooking = recipe_of(self._game).get(name) or states_of(facts, name)
        return f"The {name} {words.recipe_tail(cut, cooking)}"

    def _observe(self, feedback: str, answer: str) -> Observation:
        text = f"{feedback}\n{self._describe_room()}\n{self._describe_inventory()}"
        lengths = self.task.text_length, words.MISSION_LENGTH, words.RESPONSE_LENGTH
        texts = text, self._game.objective, answer
        rows = (self.vocabulary.encode(each, length) for each, length in zip(texts, lengths, strict=True))
        return Observation(*map(jnp.asarray, rows))

    def _describe_room(self) -> str:
        """The description's template filled with what is true now."""
        is_open = {fact.names[0] for fact in self._state["_facts"] if fact.name == "open"}

        def is_true(condition: str) -> bool:
            return is_met(
                condition,
                is_open=lambda piece: piece in is_open,
                holds=lambda piece: bool(self._held_by(piece)),
            )

        def name_things(holder: str) -> str:
            return words.enumerate_names([words.describe(thing, 0, 0) for thing, _ in self._held_by(holder)])

        room = room_of(self._game)
        text = render(self._game.infos[room].desc, is_true, name_things)
        return f"{text} There is {name_things(room)} on the floor."

    def _describe_inventory(self) -> str:
        facts = self._state["_facts"]
        carried = [words.describe(thing, *states_of(facts, entity)) for thing, entity in self._held_by("I")]
        return f"You are carrying: {words.enumerate_names(carried)}."

    def _held_by(self, holder: str) -> list[tuple[int, str]]:
        """The numbers and ids of the things in a place, by the alphabet."""
        return sorted(
            (number_of(self._game, fact.names[0]), fact.names[0])
            for fact in self._state["_facts"]
            if fact.name in ("at", "in", "on") and fact.names[1] == holder and fact.types[0] in ("f", "o")
        )
