"""What an evaluation of a language model costs in tokens, task by task: ``python benchmarks/tokens.py``.

The expert who reads plays fresh levels as a chat model with tools, and every request is counted: words,
numbers and marks, which is about what tokenisers make of plain English. Leaves ``results/tokens.json``; with
``--show`` it prints the table of the record that is there.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from afk.envs.level_pool import draw_pool
from afk.envs.registry import WORLDS, make
from afk.files import keep_compiled_programs, read_object, write_json
from afk.play.client import Reply
from afk.play.conversation import Conversation, Transcript
from afk.play.episode import Episode
from afk.play.serving import ExpertModel, count_tokens
from afk.training.evaluate import fresh_keys

RECORD = Path("results/tokens.json")
FORMS = {"steps": False, "macros": True}


def count(task: str, levels: int, *, macros: bool) -> dict[str, float]:
    """Requests and tokens of a level, as means over some levels."""
    env, model = make(task), ExpertModel()
    states = jax.device_get(draw_pool(env, fresh_keys(0)[0], levels).states)

    def complete(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Reply:
        message = model(messages, tools)
        texts = [message["content"] for message in messages] + [json.dumps(tools)]
        said = json.dumps(message["tool_calls"])
        return Reply(message, "tool_calls", sum(map(count_tokens, texts)), count_tokens(said), 0.0)

    results = []
    for level in range(levels):
        episode = Episode(env, jax.tree.map(lambda leaf, level=level: leaf[level], states), macros=macros)
        results.append(Conversation(episode, "asking", tools=True).play(complete, Transcript(None)))
    names = ("requests", "prompt_tokens", "completion_tokens")
    return {name: float(np.mean([result[name] for result in results])) for name in names}


def write_table(record: dict[str, Any]) -> str:
    """The record as a table of Markdown: thousands of tokens of 100 levels."""
    lines = ["| task | requests | K tokens | requests, macros | K tokens, macros |", "|---|---|---|---|---|"]
    for row in record["tasks"]:
        cells = []
        for form in FORMS:
            costs = row[form]
            total = costs["prompt_tokens"] + costs["completion_tokens"]
            cells += [f"{100 * costs['requests']:,.0f}", f"{100 * total / 1000:,.0f}"]
        lines.append(f"| `{row['task']}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    """Play, or show the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--levels", type=int, default=20)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if not options.show:
        keep_compiled_programs()
        tasks = [task.name for world in WORLDS.values() for task in world.paper_tasks()]
        rows = [
            {"task": task}
            | {form: count(task, options.levels, macros=macros) for form, macros in FORMS.items()}
            for task in tasks
        ]
        write_json(RECORD, {"levels": options.levels, "tasks": rows})
    print(write_table(read_object(RECORD)))


if __name__ == "__main__":
    main()
