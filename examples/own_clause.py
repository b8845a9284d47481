"""A clause of your own, with a goal of its own: *fetch* a toy instead of going to it.

A clause says what a layout must hold, what is to be asked, and how a level is built; its goal says when the
task is done, and to the solver where to go and what to do there. Everything else (oracle, notebook, solver,
start-state curriculum, Gymnasium, viewer, training) then works for tasks that are made with it.

python examples/own_clause.py
afk eval expert --task qbabyai/fetch-toy --import examples/own_clause.py
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

import afk
from afk.envs.qbabyai.levels.builder import LevelBuilder, colour_word, name_word
from afk.envs.qbabyai.levels.clause import Clause
from afk.envs.qbabyai.levels.clauses import Danger
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.tasks import Task
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import Goal, register_goal

# Success: the target is in the agent's hands. The expert faces it and picks it up.
CARRY = Goal("carry", lambda now: now.carrying == now.target, "facing", cells.PICK_UP)
register_goal(CARRY)  # before any world is stepped


@dataclass(frozen=True)
class FetchToy(Clause):
    """Two balls of different colours; one is the toy of somebody, and only the oracle knows which.

    Attributes:
        colours: of the balls, as numbers of `cells.COLOURS`.
    """

    colours: tuple[int, int] = (cells.RED, cells.PURPLE)
    title = "Fetch Toy"
    symbol = "F"

    @property
    def needs(self) -> dict[str, Any]:
        """Room for two things."""
        return {"things": 2}

    def check(self, task: Task) -> None:
        """Who carries a key has no hand free."""
        if task.lock:
            raise ValueError(f"task {task.name!r}: Fetch Toy cannot be behind {task.lock.title}")

    def questions(self, rooms: int) -> tuple[str, ...]:
        """Whose toy is which."""
        return ("what NAME toy",)

    def build(self, builder: LevelBuilder, key: jax.Array) -> None:
        """Place the balls, say whose they are, and ask for one of them."""
        swap, wanted = jax.random.bits(key, (2,), jnp.uint8).astype(jnp.int32) & 1
        colours = jnp.asarray(self.colours)
        for position, colour in zip(builder.layout.things, colours, strict=True):
            builder.place(position, cells.BALL, colour)
        for person in range(2):
            toy = colour_word(colours[person ^ swap])
            builder.add_fact(("what", name_word(person), "toy"), name_word(person), "toy is", toy, "ball")
        builder.has_toys = True
        builder.rules |= {
            "goal": register_goal(CARRY),
            "target": cells.cell(cells.BALL, colours[wanted ^ swap]),
        }
        builder.add_good_query(("what", name_word(wanted), "toy"))
        builder.instruct("find", name_word(wanted), "toy")


TASKS = (
    Task("qbabyai/fetch-toy", FloorPlan(), (FetchToy(),)),
    Task("qbabyai/fetch-toy+danger", FloorPlan(), (FetchToy(), Danger())),
    Task("qbabyai/fetch-toy-two-rooms", FloorPlan(columns=2), (FetchToy(),)),
)
for each in TASKS:
    afk.register(each)


def main(episodes: int = 50) -> None:
    """Let the expert solve the tasks with the clause."""
    for task in TASKS:
        expert, guess = (afk.evaluate(agent, task.name, episodes=episodes) for agent in ("expert", "random"))
        print(
            f"{task.symbol:3} {task.name:27} expert {expert['success']:.0%}, "
            f"random {guess['success']:.0%}; "
            f"{expert['episode_length']:.1f} steps with {expert['queries']:.1f} questions"
        )


if __name__ == "__main__":
    main()
