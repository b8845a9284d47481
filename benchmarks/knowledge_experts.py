"""What asking is worth to who plans as well as can be: with all answers, with none, with sources that lie.

    python benchmarks/knowledge_experts.py --out results/knowledge-experts.json

All play the levels that agents play in `benchmarks/knowledge.py`. The expert that asks nothing knows the
level but for what can only be asked: it acts on what may be true, in the best order, until what it sees
refutes it. Askers of sources that lie are solved exactly, see `afk.knowledge.belief`; each question they ask
is one whose two answers lead to two plans. In Object in Box there are two such, about either suitcase, and
who knows the rates may ask both.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from knowledge import LEVELS, points_of, with_terms

from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.levels.rivers import TILE_COLOURS
from afk.envs.qbabyai.solver import find_plan
from afk.envs.qbabyai.world import cells
from afk.envs.qbabyai.world.goals import FACE, OPEN_BOX
from afk.envs.qbabyai.world.state import State
from afk.files import write_json
from afk.knowledge.belief import Case, asking_in_turn, bayesian, expect
from afk.knowledge.facts import UNUSED
from afk.studies.plan import read_study
from afk.training.build import play_of
from afk.training.config import Config
from afk.training.evaluate import fresh_keys

FOLDER = Path(__file__).parent / "studies"
BOTH_SUITCASES = {"qbabyai/object-in-box": 2}  # questions that tell the two plans apart; one elsewhere
_WRONG_KEY_AWAY = ([cells.DROP], [cells.LEFT, cells.DROP], [cells.RIGHT, cells.DROP])

Truth = dict[str, int]  # fields of a level that can only be asked for


def main() -> None:
    """Plan, and write what comes of it."""
    parser = argparse.ArgumentParser(description="What asking is worth to experts, on the agents' levels.")
    parser.add_argument("--levels", type=int, default=1000, help="levels of each task")
    parser.add_argument("--out", type=Path, required=True, help="where to write the rows, as JSON")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name, make in (
        ("price-of-asking", experts),
        ("whom-to-believe-2", askers),
        ("whom-to-believe-3", askers),
    ):
        (config,) = read_study(FOLDER / f"{name}.json", preset="fast")
        for row in make(config, options.levels):
            rows.append(row)
            write_json(options.out, {"seed": LEVELS, "levels": options.levels, "rows": rows})


def levels_of(config: Config, count: int) -> Any:
    """The levels that agents of a study play: first states, and so on; tasks come in turn."""
    return draw_pool(play_of(config).env, fresh_keys(LEVELS)[0], count * len(config.tasks))


def experts(config: Config, count: int) -> Iterator[dict[str, Any]]:
    """The expert that asks all it has to know, and the one that asks nothing, on each task."""
    env = play_of(config).env
    states = jax.device_get(levels_of(config, count).states)
    for number, task in enumerate(config.tasks):
        for asker in ("asks", "does not ask"):
            sums = np.zeros(4)
            for index in range(number, len(states.step), len(config.tasks)):
                state = jax.tree.map(lambda leaf, index=index: leaf[index], states)
                if asker == "asks":
                    _, scores, _ = follow(env, [state], find_plan(state) or [])
                    sums += scores[0]
                else:
                    truths = truths_of(state)
                    sums += act_on_guesses(env, state, truths) / len(truths)
            names = ("reward", "success", "episode_length", "queries")
            yield {
                "task": task,
                "asker": asker,
                "sources": 1,
                **dict(zip(names, map(float, sums / count), strict=True)),
            }


def truths_of(state: State) -> list[Truth]:
    """What may be true of a level, each as likely: its danger, its key, its target."""
    level, codes = state.level, [int(code) for code in np.unique(state.grid)]
    kinds = {OPEN_BOX: (cells.BOX,), FACE: (cells.BALL, cells.BOX)}.get(int(level.goal), ())
    keys = [code & 7 for code in codes if code >> 3 == cells.KEY]
    possible = {
        "danger": TILE_COLOURS if level.danger >= 0 else [int(level.danger)],
        "key_colour": keys if level.key_colour >= 0 else [int(level.key_colour)],
        "target": [code for code in codes if code >> 3 in kinds] or [int(level.target)],
    }
    return [dict(zip(possible, values, strict=True)) for values in product(*possible.values())]


def where_true(state: State, truth: Truth) -> State:
    """The state of a level in which something else is true, and nothing is to be asked."""
    fields = {name: np.asarray(value, getattr(state.level, name).dtype) for name, value in truth.items()}
    nothing = np.full_like(state.level.good_queries, UNUSED)
    return replace(state, level=replace(state.level, **fields, good_queries=nothing))


def act_on_guesses(env: Any, state: State, truths: Sequence[Truth]) -> np.ndarray:
    """What acting on one of the truths after the other comes to, summed over them, in the best order.

    Returns:
        (4,): reward, successes, steps, and questions, which are none.
    """
    best = np.zeros(4)
    for believed in truths:
        plan = find_plan(where_true(state, believed))
        if plan is None:
            continue
        after, scores, over = follow(env, [where_true(state, truth) for truth in truths], plan)
        total = scores.sum(0)
        groups: dict[bytes, list[int]] = {}
        # A plan that does not end even where it is true what is believed is not tried again.
        for index in (at for at in map(int, np.flatnonzero(~over)) if truths[at] is not believed):
            groups.setdefault(after[index].grid.tobytes() + after[index].position.tobytes(), []).append(index)
        for group in groups.values():
            total[2] -= scores[group, 2].sum()  # steps are counted from the first on
            total += act_on_guesses(env, _put_down(env, after[group[0]]), [truths[index] for index in group])
        best = max(best, total, key=lambda each: each[0])
    return best


def _put_down(env: Any, state: State) -> State:
    """The state once a wrong key is out of hand; as it is if there is none, or no place for it."""
    for actions in _WRONG_KEY_AWAY if state.carrying != cells.EMPTY else ():
        plan = [np.array([0, action, 0, 0, 0], np.int32) for action in actions]
        ((after,), _, _) = follow(env, [state], plan)
        if after.carrying == cells.EMPTY:
            return after
    return state


def follow(
    env: Any, states: Sequence[State], plan: Sequence[np.ndarray]
) -> tuple[list[State], np.ndarray, np.ndarray]:
    """Follow a plan in each of some states until it is at its end, a lock does not open, or all is over.

    Returns:
        The states after it, (states, 4) rewards, successes, steps and questions, and which are over.
    """
    actions = np.zeros((env.max_steps, 5), np.int32)
    actions[: len(plan)] = np.array(plan).reshape(-1, 5)
    stacked = jax.tree.map(lambda *leaves: np.stack(leaves), *states)
    after, scores, over = jax.device_get(_follow(env, stacked, actions, len(plan)))
    return [jax.tree.map(lambda leaf, i=i: leaf[i], after) for i in range(len(states))], scores, over


@partial(jax.jit, static_argnums=0)
def _follow(
    env: Any, states: State, actions: jax.Array, length: jax.Array
) -> tuple[State, jax.Array, jax.Array]:
    """The same on the device; actions are as many as an episode has at most."""

    def play(state: State) -> tuple[State, jax.Array, jax.Array]:
        def goes_on(carry: tuple[State, jax.Array, jax.Array, jax.Array, jax.Array]) -> jax.Array:
            _, _, over, refused, number = carry
            return ~over & ~refused & (number < length)

        def step(carry: tuple[State, jax.Array, jax.Array, jax.Array, jax.Array]) -> Any:
            state, scores, _, _, number = carry
            after, time_step = env.step(state, actions[number])
            ahead = state.position + jnp.asarray(cells.DIRECTIONS)[state.direction]
            faces_lock = cells.kind_of(state.grid[ahead[1], ahead[0]]) == cells.LOCKED_DOOR
            tries = (actions[number, 0] == cells.ACT) & (actions[number, 1] == cells.TOGGLE) & faces_lock
            stats = time_step.stats
            counts = jnp.stack([scores[0] + time_step.reward, time_step.success, stats.steps, stats.queries])
            refused = tries & ~after.unlocked
            return after, counts.astype(jnp.float32), time_step.done, refused, number + 1

        start = state, jnp.zeros(4), jnp.bool_(False), jnp.bool_(False), jnp.int32(0)
        after, scores, over, _, _ = jax.lax.while_loop(goes_on, step, start)
        return after, scores, over

    return jax.vmap(play)(states)


def askers(config: Config, count: int) -> Iterator[dict[str, Any]]:
    """Those who ask sources that lie, by what they know of the sources, over the points of the sweep."""
    env, levels = play_of(config).env, levels_of(config, count)
    sources = len(config.sources)
    usual = [
        low + (high - low) / (spec.lies_power + 1) for spec in config.sources for low, high in (spec.lies,)
    ]
    for number, task in enumerate(config.tasks):
        turn = slice(number, None, len(config.tasks))
        states = jax.device_get(jax.tree.map(lambda leaf, turn=turn: leaf[turn], levels.states))
        gains = np.array([_gains(jax.tree.map(lambda leaf, i=i: leaf[i], states)) for i in range(count)])
        step = float(0.9 / states.level.max_steps[0])
        for swept, point in points_of(sources):
            changed = with_terms(levels, env, swept, point).states.dealings.character[turn]
            price, _, lies = np.moveaxis(np.asarray(changed, float), -1, 0)
            case = Case(gains, step, lies, price)
            wide = BOTH_SUITCASES.get(task, 1)
            free = Case(gains, step, np.tile(lies, wide), np.tile(price, wide))
            drawn = np.array(usual)
            for asker, asked, choose, believed in (
                ("never asks", case, asking_in_turn(case, 0), drawn),
                ("asks one source", case, asking_in_turn(case, 1), drawn),
                ("asks all, believes the majority", case, asking_in_turn(case, sources), drawn),
                ("knows how rates are drawn", case, bayesian(case, drawn), drawn),
                ("knows the rates", free, bayesian(free, free.lies), free.lies),
            ):
                found = expect(asked, choose, believed)
                yield {
                    "task": task,
                    "asker": asker,
                    "sources": sources,
                    "swept": swept,
                    "at": point,
                    "success": float(found.success.mean()),
                    "reward": float(found.reward.mean()),
                    "cost": float(found.cost.mean()),
                    "net_return": float(found.net_return.mean()),
                    "queries": float(found.questions.mean()),
                    "acted_on_false": float(found.acted_on_false.mean()),
                }


def _gains(state: State) -> list[float]:
    """What acting at once on either of two truths pays if it is one."""
    plans = [find_plan(where_true(state, truth)) for truth in truths_of(state)]
    return [1 - 0.9 * len(plan) / float(state.level.max_steps) if plan else 0.0 for plan in plans]


STUDIES = {"price-of-asking": experts, "whom-to-believe-2": askers, "whom-to-believe-3": askers}

if __name__ == "__main__":
    main()
