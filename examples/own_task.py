"""A task of your own: a floor plan and a tuple of clauses, which is known wherever this module is imported.

python examples/own_task.py
afk eval expert --task qbabyai/four-rooms --import examples/own_task.py
"""

import afk
from afk.envs.qbabyai.levels.clauses import Danger, GoToFavorite
from afk.envs.qbabyai.levels.floorplan import FloorPlan
from afk.envs.qbabyai.levels.tasks import Task

# Four small rooms with closed doors, tiles that may be deadly, and three toys of which one is wanted.
TASK = Task(
    "qbabyai/four-rooms",
    FloorPlan(rows=2, columns=2, room_size=6),
    (Danger(), GoToFavorite(objects=3)),
)
afk.register(TASK)


def main(agents: tuple[str, ...] = ("expert", "random", "pretrained"), episodes: int = 50) -> None:
    """Let agents play the task; the pretrained one has never seen this floor plan."""
    print("to be asked:", ", ".join(TASK.questions))
    for agent in agents:
        found = afk.evaluate(agent, TASK.name, episodes=episodes, any_task=True)
        print(f"{agent:10} success {found['success']:.0%} with {found['queries']:.1f} questions")


if __name__ == "__main__":
    main()
