"""Tasks that the tests play: the paper's, and points far out in the family."""

from afk.envs.qtextworld.levels.tasks import Task, paper_tasks

COOK = Task("take-2-cook", ingredients=2, cook=True)
KNIFE = Task("take-1-knife", cut=True, knife_held=False, furniture=3)
ALL = Task(
    "take-3-all",
    ingredients=3,
    cut=True,
    cook=True,
    knife_held=False,
    furniture=7,
    distractors=4,
    max_steps=30,
)
MANY = Task("take-5", ingredients=5, distractors=6)
TASKS = (*paper_tasks(), COOK, KNIFE, ALL, MANY)
