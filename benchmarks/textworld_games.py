"""Compares the games that we draw with games of TextWorld's own making.

For each of the paper's tasks: the statistics of the paper's table, measured along a walkthrough as there, and
chi-square tests of ingredients, holders, distractors and preparations. Writes
``results/textworld-games.json``; fails if a test finds a difference.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy.stats import chi2_contingency

from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.maker import export_games, make_game
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import State, can_be_cut, can_be_seen, has_knife, held
from afk.envs.qtextworld.world.things import COOKBOOK, IS_CONTAINER, KNIFE, PIECES, THINGS
from afk.files import write_json

RESULT = Path(__file__).parents[1] / "results" / "textworld-games.json"
LEAST_P = 1e-4  # of all tests together about thirty are made
MAKERS = ("ours", "textworld")
STATISTICS = ("instruction", "walkthrough", "entities", "observation", "valid actions")


def main() -> None:
    """Compare all tasks, print a table and write the record."""
    parser = argparse.ArgumentParser(description="Our games against those of TextWorld's maker.")
    parser.add_argument("--games", type=int, default=2_000, help="games a task, of each maker")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    console, rows = Console(), []
    for task in track(paper_tasks(), "drawing", console=console):
        rows.append(_compare(task, games=arguments.games, seed=arguments.seed))
    console.print(_table(rows))
    least = min(p for row in rows for p in row["p"].values())
    console.print(f"the least p of {sum(len(row['p']) for row in rows)} chi-square tests is {least:.4f}")
    write_json(
        RESULT,
        {
            "textworld": version("textworld"),
            "games": arguments.games,
            "seed": arguments.seed,
            "note": "lengths are in words; the first observation holds the description twice, since the "
            "engine's first feedback has it too; the paper's length of observations is not reproduced by it",
            "tasks": rows,
        },
    )
    sys.exit(least < LEAST_P)


def _compare(task: Task, *, games: int, seed: int) -> dict:
    """The record of a task."""
    native = QTextWorld(task)
    seeds = np.random.default_rng([seed, *task.name.encode()]).integers(2**31, size=games).tolist()
    states, bank = export_games(task, [make_game(task, seed=each) for each in seeds])
    ours, theirs = native.draw_many(jax.random.key(seeds[0]), games), jax.device_get(states)
    samples = [_measure(env, each) for env, each in ((native, ours), (QTextWorld(task, bank), states))]
    tests = [_categories(jax.device_get(each)) for each in (ours, theirs)]
    return {
        "task": task.name,
        "paper": _published(task),
        **{
            maker: {
                name: {"mean": float(values.mean()), "std": float(values.std())}
                for name, values in sample.items()
            }
            for maker, sample in zip(MAKERS, samples, strict=True)
        },
        "p": {name: _p_value(tests[0][name], tests[1][name]) for name in tests[0]},
    }


def _published(task: Task) -> dict[str, float]:
    """The means in the paper's table."""
    tables = json.loads((RESULT.parent / "published.json").read_text())["qtextworld_statistics"]
    rows = tables[task.name.split("/")[1].replace("-", " ").title()]
    return {name: mean for name, (mean, _) in zip(STATISTICS, rows.values(), strict=True)}


def _measure(env: QTextWorld, states: State) -> dict[str, np.ndarray]:
    """The statistics of the paper's table, one number a game or one a state."""
    task = env.task
    is_word = np.array([token[:1].isalnum() for token in env.vocabulary.tokens])
    commands = _walkthroughs(task, jax.device_get(states))

    def count(text: jax.Array) -> jax.Array:
        return jnp.asarray(is_word)[text].sum()

    def play(state: State, actions: jax.Array) -> tuple:
        def move(state: State, action: jax.Array) -> tuple[State, tuple]:
            state, time_step = env.step(state, jnp.maximum(action, 0))
            return state, (count(time_step.observation.text), _valid_actions(state))

        first = env.observe(state)
        inventory = 3 + 2 * has_knife(state) + ~has_knife(state)
        again = (
            count(first.text) - count(first.mission) - inventory
        )  # the feedback at the start describes too
        _, (lengths, valid) = jax.lax.scan(move, state, actions)
        lengths = jnp.concatenate([(count(first.text) + again)[None], lengths])
        return count(first.mission), lengths, jnp.concatenate([_valid_actions(state)[None], valid])

    missions, lengths, valid = jax.device_get(jax.jit(jax.vmap(play))(states, commands))
    steps = (commands[:, :, 0] >= 0).sum(1)
    is_played = np.arange(lengths.shape[1]) <= steps[:, None]
    entities = (np.asarray(states.game.things) >= 0).sum(1) + task.pieces
    return dict(
        zip(STATISTICS, (missions, steps, entities, lengths[is_played], valid[is_played]), strict=True)
    )


def _valid_actions(state: State) -> jax.Array:
    """How many commands of the five physical verbs would be carried out."""
    game = state.game
    in_reach = can_be_seen(state)[jnp.minimum(state.place, held(game))] & (state.place >= 0)
    is_held = state.place == held(game)
    opens = jnp.asarray(IS_CONTAINER)[game.pieces] & ~state.is_open
    cuts = is_held & can_be_cut(state) & has_knife(state)
    return (in_reach & ~is_held).sum() + opens.sum() + 3 * cuts.sum()


def _walkthroughs(task: Task, states: State) -> np.ndarray:
    """TextWorld's walkthroughs, which open a container for each ingredient in it: (games, commands, 3) int32.

    Rows of -1 fill them up.
    """
    names, first = words.NAME_WORDS, words.FUNCTIONS.index(task.functions[0])
    commands = np.full((len(states.step), 3 * task.ingredients, 3), -1, np.int32)
    for number, row in enumerate(commands):
        lines = []
        ingredients = np.flatnonzero(states.game.is_ingredient[number])
        for slot in ingredients:
            place, thing = states.place[number, slot], states.game.things[number, slot]
            if place < task.pieces and IS_CONTAINER[piece := states.game.pieces[number, place]]:
                lines.append((words.OPEN - first, *names[len(THINGS) + piece]))
            lines.append((words.TAKE - first, *names[thing]))
        if task.cut:
            for slot in ingredients:
                verb = words.SLICE - 1 + int(states.game.cut[number, slot]) - first
                lines.append((verb, *names[states.game.things[number, slot]]))
        row[: len(lines)] = lines
    return commands


def _categories(states: State) -> dict[str, np.ndarray]:
    """What is counted, as a category for each ingredient or each game."""
    game = states.game
    things, place, slot = (np.asarray(each) for each in (game.things, states.place, game.is_ingredient))
    beyond = np.broadcast_to(
        [len(PIECES), len(PIECES) + 1], (len(place), 2)
    )  # the floor and the player's hands
    holders = np.concatenate([game.pieces, beyond], 1)
    holder = np.where(place >= 0, np.take_along_axis(holders, np.maximum(place, 0), 1), -1)
    rank = np.maximum(np.cumsum(slot, 1) - 1, 0)

    def where(thing: int) -> np.ndarray:
        return np.where(things == thing, holder, -1).max(1)

    beside = (place[:, :, None] == place[:, None]) & slot[:, :, None]
    return {
        "ingredient": things[slot],
        "holder": holder[slot],
        "holders together": (slot * holder * 16**rank).sum(1),
        "cookbook": where(COOKBOOK),
        "knife": where(KNIFE),
        "things": (things >= 0).sum(1),
        "things beside an ingredient": beside.sum(2)[slot],
        "preparation": np.asarray(game.cut * 4 + game.cooking)[slot],
        "state at the start": np.asarray(states.cut * 4 + states.cooking)[slot],
    }


def _p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """How likely such different counts are if both are drawn alike; rare categories are taken together."""
    kinds, inverse = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    counts = np.stack([np.bincount(each, minlength=len(kinds)) for each in np.split(inverse, [len(ours)])])
    is_rare = counts.sum(0) < 20
    counts = np.concatenate([counts[:, ~is_rare], counts[:, is_rare].sum(1, keepdims=True)], 1)
    counts = counts[:, counts.sum(0) > 0]
    return float(np.asarray(chi2_contingency(counts)[1])) if counts.shape[1] > 1 else 1.0


def _table(rows: list[dict]) -> Table:
    """The rows for the terminal: ours, TextWorld's and the paper's means."""
    table = Table("task", *STATISTICS, "least p")
    for row in rows:
        cells = [
            " / ".join(
                f"{mean:.2f}"
                for mean in (*(row[maker][name]["mean"] for maker in MAKERS), row["paper"][name])
            )
            for name in STATISTICS
        ]
        table.add_row(row["task"], *cells, f"{min(row['p'].values()):.3f}")
    return table


if __name__ == "__main__":
    main()
