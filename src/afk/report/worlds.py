"""What the tasks and the games are like, beside the paper's tables 8 and 9."""

from afk.checks import is_number
from afk.envs.qbabyai.levels.tasks import Task as GridTask
from afk.envs.registry import find_task_of
from afk.report.archive import Archive, look_up
from afk.report.columns import expert_steps, published_row
from afk.report.comparisons import LETTERS
from afk.report.estimates import Estimate
from afk.report.tables import Cell, Column, Row, Table
from afk.studies.plan import GRID_TASKS, TEXT_TASKS

# The statistics of a game: in our record, and in the file of the paper's numbers.
_STATISTICS = {
    "instruction": "instruction_length",
    "walkthrough": "walkthrough_length",
    "entities": "entities",
    "observation": "observation_length",
    "valid actions": "valid_actions",
}


def task_statistics(archive: Archive) -> list[Table]:
    """Rooms, good queries and early ends of the tasks of Q-BabyAI, and what the expert needs."""
    rows = []
    for name in GRID_TASKS:
        task, row = find_task_of(GridTask, name), published_row(name)
        ours = {
            "good_queries": len(task.questions),
            "rooms": task.plan.rooms,
            "room_size": task.plan.room_size,
        }
        cells = [
            Cell(Estimate(value), archive.paper("qbabyai_tasks", row, measure), digits=0)
            for measure, value in ours.items()
        ]
        expert = (_expert_success(archive, name), expert_steps(archive, name))
        early = _yes(task.ends_early, look_up(archive.published, "qbabyai_tasks", row, "early_terminate"))
        rows.append(Row((row,), (*cells, early, *expert)))
    columns = ("|Q_t|", "rooms", "room size", "ends early", "expert: success", "expert: steps")
    notes = (
        LETTERS,
        "Paper: its table gives CS two rooms and five queries, but its results come from one room and four: "
        "its appendix calls four optimal, and no episode takes longer than one room allows.",
        "The expert asks the good queries, then acts optimally (benchmarks/expert.py).",
    )
    title = "Tasks of Q-BabyAI (the paper's table 8)"
    return [Table("task-statistics", title, ("task",), tuple(map(Column, columns)), tuple(rows), notes)]


def game_statistics(archive: Archive) -> list[Table]:
    """Lengths and counts of the games of Q-TextWorld: ours, and those of TextWorld's own maker."""
    rows = []
    for task in TEXT_TASKS:
        for name, published in _STATISTICS.items():
            paper = archive.paper("qtextworld_statistics", published_row(task), published)
            ours, theirs = (
                Cell(_measured(archive, task, maker, name), paper, digits=2)
                for maker in ("ours", "textworld")
            )
            rows.append(Row((published_row(task), name), (ours, theirs)))
    columns = (Column("ours"), Column("TextWorld's maker", shows_paper=False))
    notes = (
        "Mean ± standard deviation over games, with a sample of both makers (benchmarks/textworld_games.py).",
        "How the paper counts the length of observations is not known; TextWorld's own games differ too.",
    )
    title = "Games of Q-TextWorld (the paper's table 9)"
    return [Table("game-statistics", title, ("task", "statistic"), columns, tuple(rows), notes)]


def _yes(ours: bool, paper: bool | None) -> str:
    """Yes or no, and what the paper says if it says otherwise."""
    word = "yes" if ours else "no"
    return word if paper in (None, ours) else f"{word} (paper: {'yes' if paper else 'no'})"


def _expert_success(archive: Archive, task: str) -> Cell:
    """What share of our levels of a task the expert solves, in percent."""
    value = look_up(archive.expert, task, "success")
    return Cell(Estimate(100.0 * value) if is_number(value) else None, digits=0)


def _measured(archive: Archive, task: str, maker: str, name: str) -> Estimate | None:
    """A statistic of a maker's games."""
    mean, std = (look_up(archive.games, task, maker, name, part) for part in ("mean", "std"))
    return Estimate(mean, std) if is_number(mean) and is_number(std) else None
