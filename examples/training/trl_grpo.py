"""Train a language model to ask with TRL's GRPO trainer: the player is its environment.

python -m venv .trl && .trl/bin/pip install -r examples/training/trl-requirements.txt
.trl/bin/python examples/training/trl_grpo.py --model Qwen/Qwen3-0.6B --task C --steps 200

`act` and `ask` become tools, `reset` gives the rules and the first observation, and `get_reward` pays. A
row of the dataset is a level: all completions of a group play the same.
"""

import argparse
from typing import Any

from afk.play import Player

FRESH = 1_000  # the seed of the first level; `afk eval` plays seed 0
ROW_FIELDS = ("task", "seed", "level", "mode", "macros")


class Game(Player):
    """A player that is reset with a row of the dataset, whatever columns it has."""

    def reset(self, **row: Any) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin the episode of a row."""
        return super().reset(**{name: row[name] for name in ROW_FIELDS if name in row})


def make_rows(task: str, levels: int, *, mode: str = "asking", macros: bool = True) -> list[dict[str, Any]]:
    """A row for each level; what `reset` returns comes after the prompt."""
    prompt = [{"role": "user", "content": "Play this game with your tools, one call at a time.\n\n"}]
    options = {"task": task, "mode": mode, "macros": macros}
    return [{"prompt": prompt, "seed": FRESH + number, **options} for number in range(levels)]


def main() -> None:
    """Train."""
    from datasets import Dataset  # pyright: ignore[reportMissingImports]
    from trl import GRPOConfig, GRPOTrainer  # pyright: ignore[reportMissingImports]

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="Qwen/Qwen3-0.6B")
    parser.add_argument("--task", default="C")
    parser.add_argument("--levels", type=int, default=1_000)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--out", default="runs/grpo")
    options = parser.parse_args()
    trainer = GRPOTrainer(
        model=options.model,
        train_dataset=Dataset.from_list(make_rows(options.task, options.levels)),
        environment_factory=Game,
        args=GRPOConfig(
            output_dir=options.out,
            max_steps=options.steps,
            num_generations=8,
            max_completion_length=4_096,
            max_tool_calling_iterations=40,
            logging_steps=1,
        ),
    )
    trainer.train()
    trainer.save_model(options.out)


if __name__ == "__main__":
    main()
