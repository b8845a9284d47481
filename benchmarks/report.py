"""Prints the README's tables from the records in ``results/``."""

import json
from pathlib import Path
from statistics import mean, stdev

from afk.bench import times_peer

RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Print each table as Markdown."""
    print(_speeds(), _worlds(), _level_one(), sep="\n\n")


def _speeds() -> str:
    """Steps and levels a second by machine."""
    lines = [
        "| task | machine | steps/s | against | levels/s | against |",
        "|---|---|---|---|---|---|",
    ]
    for path in sorted(RESULTS.glob("bench-env-*.json")):
        record = json.loads(path.read_text())
        machine = record["machine"]
        where = (
            f"{machine['device']}, {machine['cores']} cores"
            if "x86" in machine["device"]
            else machine["device"]
        )
        for result in record["results"]:
            lines.append(
                f"| `{result['task']}` | {where} "
                f"| {result['steps_per_second']:,.0f} | {times_peer(result, 'steps')} "
                f"| {result['levels_per_second']:,.0f} | {times_peer(result, 'levels')} |"
            )
    return "\n".join(lines)


def _worlds() -> str:
    """What the expert and the comparisons with Minigrid and TextWorld found, task by task."""
    comparisons = _comparisons()
    lines = [
        "| task | good queries | levels the expert won | its steps | compared | differences |",
        "|---|---|---|---|---|---|",
    ]
    for row in _read("expert.json")["tasks"]:
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


def _read(name: str) -> dict:
    """A record."""
    return json.loads((RESULTS / name).read_text())


def _level_one() -> str:
    """Agents on the tasks of level 1 beside the published numbers: means and deviations over seeds."""
    published = _read("published.json")
    lines = [
        "| task | agent | success | paper | length | paper | queries | F1 | steps a seed |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for symbol, title in published["symbols"].items():
        task = title.lower().replace(" ", "-")
        for agent in ("afk", "query", "no-query"):
            path = RESULTS / "level-1" / f"{agent}--{task}.json"
            if not path.exists():
                continue
            record = json.loads(path.read_text())
            ours = {
                name: _over_seeds(record, name) for name in ("success", "episode_length", "queries", "f1")
            }
            theirs = [
                published[name][symbol][agent.replace("-", "_")]
                for name in ("qbabyai_success", "qbabyai_episode_length")
            ]
            success, success_spread = ours["success"]
            lines.append(
                f"| {title} | {agent} | {100 * success:.1f} ± {100 * success_spread:.1f} "
                f"| {theirs[0][0]:.1f} ± {theirs[0][1]:.1f} | {ours['episode_length'][0]:.1f} "
                f"| {theirs[1][0]:.1f} | {ours['queries'][0]:.1f} | {ours['f1'][0]:.2f} "
                f"| {record['config']['steps'] / 1e6:.1f}M |"
            )
    return "\n".join(lines)


def _over_seeds(record: dict, measure: str) -> tuple[float, float]:
    """Mean and standard deviation of the protocol's final metric."""
    values = [seed["final"][measure] for seed in record["seeds"]]
    return mean(values), stdev(values)


if __name__ == "__main__":
    main()
