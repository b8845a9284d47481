"""Prints the README's tables from the records in ``results/``."""

import json
from pathlib import Path

RESULTS = Path(__file__).parents[1] / "results"


def main() -> None:
    """Print each table as Markdown."""
    print(_speeds(), _worlds(), sep="\n\n")


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


if __name__ == "__main__":
    main()
