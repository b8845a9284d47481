"""Prints the README's tables from the records in ``results/``."""

import json
from pathlib import Path
from statistics import mean, stdev

RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Print each table as Markdown."""
    print(_speeds(), _worlds(), _level_one(), sep="\n\n")


def _speeds() -> str:
    """Steps and levels a second by machine."""
    lines = ["| task | machine | steps/s | x `minigrid` | levels/s |", "|---|---|---|---|---|"]
    for path in sorted(RESULTS.glob("bench-env-*.json")):
        record = json.loads(path.read_text())
        machine = record["machine"]
        where = (
            f"{machine['device']}, {machine['cores']} cores"
            if "x86" in machine["device"]
            else machine["device"]
        )
        for result in record["results"]:
            peer = result["minigrid_steps_per_second"]
            ratio = f"{result['steps_per_second'] / peer:,.0f}" if peer else "not there"
            lines.append(
                f"| `{result['task']}` | {where} | {result['steps_per_second']:,.0f} | {ratio} "
                f"| {result['levels_per_second']:,.0f} |"
            )
    return "\n".join(lines)


def _worlds() -> str:
    """What the expert and the comparison with Minigrid found, task by task."""
    expert = {row["task"]: row for row in json.loads((RESULTS / "expert.json").read_text())["tasks"]}
    parity = {row["task"]: row for row in json.loads((RESULTS / "parity.json").read_text())["tasks"]}
    lines = [
        "| task | good queries | levels the expert won | its steps | compared with Minigrid | differences |",
        "|---|---|---|---|---|---|",
    ]
    for name, row in expert.items():
        won, compared = round(row["success"] * row["episodes"]), parity[name]
        lines.append(
            f"| `{name}` | {row['good_queries']:.0f} | {won:,} of {row['episodes']:,} "
            f"| {row['episode_length']:.1f} | {compared['steps']:,} steps | {compared['mismatches']} |"
        )
    return "\n".join(lines)


def _level_one() -> str:
    """Agents on the tasks of level 1 beside the published numbers: means and deviations over seeds."""
    published = json.loads((RESULTS / "published.json").read_text())
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
