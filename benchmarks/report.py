"""Prints the tables of the README and of the documents from ``results/``, as `afk reproduce` does."""

import json
from pathlib import Path

from afk.bench.environments import times_peer
from afk.bench.suite import PUBLISHED
from afk.report.archive import Archive, read_archive
from afk.report.columns import Contender, final_values, find_run
from afk.report.estimates import over_seeds
from afk.report.items import ITEMS
from afk.report.render import to_markdown

RESULTS = Path(__file__).parents[1] / "results"
README_ITEMS = (
    "headline",
    "pretrained",
    "table-1",
    "lengths",
    "textworld",
    "query-quality",
    "generalisation",
)


def main() -> None:
    """Print each table as Markdown."""
    archive = read_archive(RESULTS)
    tables = [table for name in README_ITEMS for table in ITEMS[name](archive) if not table.is_empty]
    print(*map(to_markdown, tables), _speeds(), _worlds(), peers(archive), sep="\n\n")


def _speeds() -> str:
    """Steps and levels a second by machine, of the worlds alone and of training."""
    lines = [
        "| what | machine | steps/s | against | levels/s | against |",
        "|---|---|---|---|---|---|",
    ]
    for path in sorted(RESULTS.glob("bench-env-*.json")):
        record = json.loads(path.read_text())
        for result in record["results"]:
            lines.append(
                f"| `{result['task']}` | {_name(record['machine'])} "
                f"| {result['steps_per_second']:,.0f} | {times_peer(result, 'steps')} "
                f"| {result['levels_per_second']:,.0f} | {times_peer(result, 'levels')} |"
            )
    for path in sorted(RESULTS.glob("bench-train-*.json")):
        result = json.loads(path.read_text())
        paper = PUBLISHED[result["task"].split("/")[0]]["training_steps_per_second"][1]
        lines.append(
            f"| training `{result['task']}`, preset `{result['preset']}`, "
            f"{result['seeds']} x {result['environments']} environments | {_name(result['machine'])} "
            f"| {result['steps_per_second']:,.0f} "
            f"| {result['steps_per_second'] / paper:,.0f} x the paper's {paper:,.0f} | - | - |"
        )
    return "\n".join(lines)


def _name(machine: dict) -> str:
    """A machine in a word or two."""
    return (
        f"{machine['device']}, {machine['cores']} cores" if "x86" in machine["device"] else machine["device"]
    )


def _worlds() -> str:
    """What the expert and the comparisons with Minigrid and TextWorld found, task by task."""
    comparisons = _comparisons()
    lines = [
        "| task | good queries | levels the expert won | its steps | compared | differences |",
        "|---|---|---|---|---|---|",
    ]
    for row in (each for each in _read("expert.json")["tasks"] if each["task"] in comparisons):
        won, (compared, differences) = round(row["success"] * row["episodes"]), comparisons[row["task"]]
        lines.append(
            f"| `{row['task']}` | {row['good_queries']:.0f} | {won:,} of {row['episodes']:,} "
            f"| {row['episode_length']:.1f} | {compared} | {differences} |"
        )
    return "\n".join(lines)


def _comparisons() -> dict[str, tuple[str, int]]:
    """What was compared with another engine, and how many differences there were, by task."""
    found = {
        row["task"]: (f"{row['steps']:,} steps with Minigrid", row["mismatches"])
        for row in _read("parity.json")["tasks"]
    }
    rows = _read("textworld-parity.json")["tasks"]  # one for each way to play a task
    for task in {row["task"] for row in rows}:
        states, differences = (
            sum(row[count] for row in rows if row["task"] == task) for count in ("states", "mismatches")
        )
        found[task] = f"{states:,} states with TextWorld", differences
    return found


def peers(archive: Archive) -> str:
    """Success in percent of Stable-Baselines3's PPO, which cannot ask, beside agents of ours, with steps."""
    lines = [
        "| task | untrained | Stable-Baselines3's PPO | ours without asking (`no-query`) | ours (`afk`) |",
        "|---|---|---|---|---|",
    ]
    for task, trained in _read("sb3.json").items():
        first, last = trained["evaluations"][0], trained["evaluations"][-1]
        cells = [f"{100 * first['success']:.1f}", f"{100 * last['success']:.1f}, {_millions(last['steps'])}"]
        for agent in ("no-query", "afk"):
            if run := find_run(archive, Contender(agent, "fast"), [task]):
                ours = over_seeds([100 * value for value in final_values(run, task, "success")])
                cells.append(
                    f"{ours.mean:.1f} ± {ours.std:.1f}, {_millions(run.seeds[0].curve['steps'][-1])}"
                )
            else:
                cells.append("missing")
        lines.append(f"| `{task}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _millions(steps: float) -> str:
    return f"{steps / 1e6:.1f}M steps"


def _read(name: str) -> dict:
    """A record."""
    return json.loads((RESULTS / name).read_text())


if __name__ == "__main__":
    main()
