"""What a model came to on each task in each mode, as a table of Markdown: ``python table.py RECORD``."""

import sys
from pathlib import Path
from typing import Any

from afk.files import read_object
from afk.play.leaderboard import find_gaps

MODES = ("no-questions", "asking", "all-told")


def write_table(record: dict[str, Any]) -> str:
    """Success in percent with its 95% interval, and how much of what answers are worth asking recovers."""
    lines = [
        "| task | no questions | asking | all told | questions | F1 | recovered |",
        "|---|---|---|---|---|---|---|",
    ]
    results = record["results"]
    for task in dict.fromkeys(each["task"] for each in results):
        played = {each["mode"]: each for each in results if each["task"] == task}
        cells = [_success(played[mode]) if mode in played else "" for mode in MODES]
        asking = played.get("asking")
        cells += [f"{asking['queries']:.1f}", f"{asking['f1']:.2f}"] if asking else ["", ""]
        gaps = find_gaps(list(played.values()))
        cells.append(f"{gaps[0].share:.0%}" if gaps else "")
        lines.append(f"| `{task}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _success(result: dict[str, Any]) -> str:
    low, high = result["success_interval"]
    return f"{100 * result['success']:.0f} [{100 * low:.0f}, {100 * high:.0f}]"


if __name__ == "__main__":
    print(write_table(read_object(Path(sys.argv[1]))))
