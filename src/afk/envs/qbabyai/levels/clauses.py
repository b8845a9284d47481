"""The four clauses that tasks are made of (paper, section 2.2 and appendix A.1), and the green square.

A clause is data; see `Clause`. A new one is a class like these, in any file, and `Task` takes it like these.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from afk.envs.qbabyai.levels.builder import (
    ANYTHING,
    LevelBuilder,
    Word,
    colour_word,
    kind_word,
    name_word,
    sentence,
)
from afk.envs.qbabyai.levels.clause import Clause
from afk.envs.qbabyai.levels.rivers import TILE_COLOURS
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import FACE, OPEN_BOX, STAND_ON
from afk.envs.qbabyai.world.words import RESPONSE_LENGTH
from afk.knowledge.facts import ON_THE_SPOT

if TYPE_CHECKING:
    from afk.envs.qbabyai.levels.tasks import Task

KINDS = {"key": cells.KEY, "ball": cells.BALL, "box": cells.BOX}
_NOISE = ("", "different from tim,", "while red ball in the kitchen,")


@dataclass(frozen=True)
class Danger(Clause):
    """Tiles of one of two colours end the episode; rivers of both run through every room."""

    title = "Danger"
    symbol = "S"
    role = "hazard"
    ends_early = True
    rule = "Tiles of one of two colours are the danger zone: stepping on one ends the episode in failure."

    @property
    def needs(self) -> dict[str, Any]:
        """Rivers."""
        return {"rivers": True}

    def check(self, task: "Task") -> None:
        """Rivers take some room."""
        if task.plan.room_size < 5:
            raise ValueError(f"task {task.name!r}: Danger needs rooms of size 5 or more")

    def questions(self, rooms: int) -> tuple[str, ...]:
        """What must be asked, in words."""
        return ("what danger zone",)

    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """Which of the two colours is dangerous."""
        danger = jnp.asarray(TILE_COLOURS)[jax.random.randint(key, (), 0, 2)]
        builder.rules["danger"] = danger
        builder.add_fact(("what", "danger", "zone"), "danger zone is", colour_word(danger))
        builder.add_good_query(("what", "danger", "zone"))
        builder.instruct("avoid danger zone")


@dataclass(frozen=True)
class OpenDoor(Clause):
    """A lock that one of several keys opens; the oracle tells which, but only next to the locked door.

    Attributes:
        keys: how many keys there are.
        keys_apart: whether they lie in rooms of their own; they lie where the agent starts otherwise.
    """

    keys: int = 3
    keys_apart: bool = False
    title = "Open Door"
    symbol = "H"
    role = "lock"
    rule = (
        "One of the keys opens every locked door, whatever its colour: carry it and toggle the door. If "
        "nothing else is to be found, opening a locked door is success."
    )

    def __post_init__(self) -> None:
        if not 1 <= self.keys <= 4:
            raise ValueError(f"Open Door has 1 to 4 keys, not {self.keys}")

    @property
    def needs(self) -> dict[str, Any]:
        """A lock, and keys."""
        return {"keys": self.keys, "keys_apart": self.keys_apart, "locks": True}

    def check(self, task: "Task") -> None:
        """There must be something behind the door."""
        if task.plan.rooms < 2:
            raise ValueError(f"task {task.name!r}: Open Door needs at least two rooms")

    def questions(self, rooms: int) -> tuple[str, ...]:
        """What must be asked, in words."""
        return ("what key", "where COLOUR key") if self.keys_apart else ("what key",)

    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """Which key fits; keys differ in colour."""
        colours, fitting = self.draw_keys(key)
        builder.key_colours = builder.key_colours.at[colours].set(True)
        for position, colour in zip(builder.layout.keys, colours, strict=True):
            builder.place(position, cells.KEY, colour)
        builder.rules["key_colour"] = fitting
        what = ("what", ANYTHING, "key")
        builder.add_fact(what, colour_word(fitting), "key to the door", scope=ON_THE_SPOT)
        builder.add_good_query(what)
        if self.keys_apart:
            builder.add_good_query(("where", colour_word(fitting), "key"))
        builder.instruct("find the key to the door")

    def draw_keys(self, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The colours of the keys, (keys,) int32, and that of the one that fits, () int32."""
        colours_key, which_key = jax.random.split(key)
        colours = jax.random.permutation(colours_key, len(cells.COLOURS))[: self.keys]
        return colours, colours[jax.random.randint(which_key, (), 0, self.keys)]


@dataclass(frozen=True)
class ObjectInBox(Clause):
    """Two suitcases with a ball in each; opening one ends the episode, and only one holds the toy."""

    title = "Object in Box"
    symbol = "C"
    precedence = 1  # with it, the favourite of Go to Favorite is in a box: it is to be found all the same
    ends_early = True
    rule = (
        "Toys are in suitcases, which are boxes: opening the one that holds the toy is success, opening "
        "another ends the episode in failure."
    )

    @property
    def needs(self) -> dict[str, Any]:
        """Two boxes."""
        return {"things": 2}

    def questions(self, rooms: int) -> tuple[str, ...]:
        """What must be asked, in words."""
        chain = ("what NAME toy", "where COLOUR ball", "what NAME suitcase")
        return (*chain, "where COLOUR box") if rooms > 1 else chain

    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """Whose toy is which ball, and whose suitcase is which box: each person's toy is in the other's."""
        draws_key, noise_key = jax.random.split(key)
        wanted, toy_swap, box_swap = jax.random.bits(draws_key, (3,), jnp.uint8).astype(jnp.int32) & 1
        colours = jnp.asarray([cells.BLUE, cells.GREEN])
        noises = jax.random.randint(noise_key, (4,), 0, len(_NOISE))
        people = jnp.arange(2)
        toys, boxes = colours[people ^ toy_swap], colours[people ^ box_swap]
        for person in range(2):
            other, toy = name_word(1 - person), colour_word(toys[person])
            box = colour_word(boxes[1 - person])
            builder.add_fact(("what", name_word(person), "toy"), name_word(person), "toy is", toy, "ball")
            builder.add_fact_if(
                jnp.bool_(True),
                ("where", toy, "ball"),
                _with_noise(noises[person], toy, "ball in", other, "suitcase"),
            )
            builder.add_fact_if(
                jnp.bool_(True),
                ("what", other, "suitcase"),
                _with_noise(noises[2 + person], other, "suitcase is", box, "box"),
            )
            builder.contents = builder.contents.at[boxes[1 - person]].set(cells.BALL * 8 + toys[person])
        for position, colour in zip(builder.layout.things, colours, strict=True):
            builder.place(position, cells.BOX, colour)
        builder.has_toys = True
        builder.rules |= {
            "goal": OPEN_BOX,
            "target": cells.BOX * 8 + boxes[1 - wanted],
            "wrong_box_ends": True,
        }
        builder.add_good_query(("what", name_word(wanted), "toy"))
        builder.add_good_query(("where", colour_word(toys[wanted]), "ball"))
        builder.add_good_query(("what", name_word(1 - wanted), "suitcase"))
        if builder.plan.rooms > 1:
            builder.add_good_query(("where", colour_word(boxes[1 - wanted]), "box"))
        builder.instruct("find", name_word(wanted), "toy")


@dataclass(frozen=True)
class GoToFavorite(Clause):
    """Several distinct objects, two of which are somebody's favourite toy; success is to face the right one.

    Attributes:
        objects: how many there are.
        kinds: what they may be.
        colours: what colours they may have.
    """

    objects: int = 3
    kinds: tuple[str, ...] = ("ball", "box")
    colours: tuple[str, ...] = ("blue", "green")
    title = "Go to Favorite"
    symbol = "D"
    rule = "Toys are among the objects that lie about: facing the right one from the next cell is success."

    def __post_init__(self) -> None:
        for what, given, allowed in (("kind", self.kinds, KINDS), ("colour", self.colours, cells.COLOURS)):
            for each in given:
                if each not in allowed:
                    raise ValueError(
                        f"Go to Favorite: unknown {what} {each!r}, not one of {', '.join(allowed)}"
                    )
            if len(set(given)) < len(given):
                raise ValueError(f"Go to Favorite: each {what} is named once, not as in {', '.join(given)}")
        most = min(6, len(self.kinds) * len(self.colours))
        if not 2 <= self.objects <= most:
            raise ValueError(
                f"Go to Favorite has 2 to {most} objects of these kinds and colours, not {self.objects}"
            )

    @property
    def needs(self) -> dict[str, Any]:
        """The objects, each of which could be the target."""
        return {"things": self.objects}

    def check(self, task: "Task") -> None:
        """Favourites must not have to look like a key of the lock."""
        if not isinstance(task.lock, OpenDoor) or task.destination is not self:
            return
        choices = len(self.kinds) * len(self.colours)
        taken = min(task.lock.keys, len(self.colours)) if "key" in self.kinds else 0
        if self.objects > choices - taken:
            raise ValueError(
                f"task {task.name!r}: {self.objects} favourites cannot differ from {task.lock.keys} keys of "
                "the lock; give them more kinds or colours"
            )

    def questions(self, rooms: int) -> tuple[str, ...]:
        """What must be asked, in words."""
        return ("what NAME toy", "where COLOUR KIND") if rooms > 1 else ("what NAME toy",)

    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """What the objects are, none of them like a key of the lock, and whose favourites two of them are."""
        objects_key, owners_key, wanted_key = jax.random.split(key, 3)
        things = self.draw_things(builder, objects_key)
        favourites = things[jax.random.permutation(owners_key, self.objects)[:2]]
        for position, (kind, colour) in zip(builder.layout.things, things, strict=True):
            builder.place(position, kind, colour)
        for person, (kind, colour) in enumerate(favourites):
            who = name_word(person)
            builder.add_fact(("what", who, "toy"), who, "toy is", colour_word(colour), kind_word(kind))
        builder.has_toys = True
        wanted = jax.random.randint(wanted_key, (), 0, 2)
        kind, colour = favourites[wanted]
        builder.rules |= {"goal": FACE, "target": kind * 8 + colour}
        builder.add_good_query(("what", name_word(wanted), "toy"))
        if builder.plan.rooms > 1:
            builder.add_good_query(("where", colour_word(colour), kind_word(kind)))
        builder.instruct("go to", name_word(wanted), "toy")

    @property
    def choices(self) -> np.ndarray:
        """Kind and colour of all that the objects may be: (choices, 2) int."""
        return np.array(
            [(KINDS[kind], cells.COLOURS.index(colour)) for kind in self.kinds for colour in self.colours]
        )

    def draw_things(self, builder: LevelBuilder, key: jax.Array) -> jax.Array:
        """Kind and colour of the objects, all different and unlike the keys of the lock: (objects, 2) int."""
        choices = jnp.asarray(self.choices)
        clashes = (choices[:, 0] == cells.KEY) & builder.key_colours[choices[:, 1]]
        order = jax.random.uniform(key, (len(choices),)) + clashes
        return choices[jnp.argsort(order)[: self.objects]]


@dataclass(frozen=True)
class GreenSquare(Clause):
    """A square to stand on: where a task with danger leads when nothing else is sought."""

    title = "Green Square"
    rule = "Standing on the green square is success."

    @property
    def needs(self) -> dict[str, Any]:
        """The square."""
        return {"things": 1}

    def questions(self, rooms: int) -> tuple[str, ...]:
        """Nothing: it is in sight, or behind the lock."""
        return ()

    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """Where it leads; there is nothing to draw."""
        builder.place(builder.layout.things[0], cells.SQUARE, jnp.int32(cells.GREEN))
        builder.rules |= {"goal": STAND_ON, "target": cells.GREEN_SQUARE}
        builder.instruct("go to the green square")


def _with_noise(which: jax.Array, *answer: Word) -> jax.Array:
    """An answer behind one of the noise clauses, or none: (12,) uint8."""
    return jnp.stack([sentence(noise, *answer, length=RESPONSE_LENGTH) for noise in _NOISE])[which]
