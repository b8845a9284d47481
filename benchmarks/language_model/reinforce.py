"""Let the small model learn from its own episodes (GRPO): which of several tries at the same level paid more.

Processes play, each some tries at one level at a time; the model answers all of them together. A try's
advantage is its reward against those of its group, in their standard deviations (DeepSeekMath, section 4.1);
every batch is used once, so that there are no ratios to be cut off. Some of the expert's episodes go along,
lest the other tasks are forgotten.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from decoder import LONGEST, Decoder, bucket, load, save, score
from language import CONTEXT, END, REPLY, Words, begin, encode
from pack import ROWS, WORDS, Row, load_rows, make_batch
from serve import SmallModel, read_said
from train import LENGTHS, OPTIMIZER, apply_gradient, compute_loss

LEVELS = 64  # of a task that a process draws at once
SEED = 500_000  # the first process's; `afk eval` plays seed 0


class Seen(NamedTuple):
    """What a try came to after a move.

    Attributes:
        text: what is observed, and of the rules what the model is told, first of all.
        is_over: whether it has ended.
        reward: what it has paid so far.
        success: whether the task is done.
    """

    text: str
    is_over: bool
    reward: float
    success: bool


class Try(NamedTuple):
    """A try as it goes on.

    Attributes:
        task: the task's name.
        group: which level of this batch.
        tokens: all that was read and said.
        mine: which of it the model said.
        seen: what there is to be seen now.
        turns: how often it spoke.
    """

    task: str
    group: int
    tokens: list[int]
    mine: list[bool]
    seen: Seen
    turns: int = 0


def play(connection: Connection, tasks: list[str], tries: int, seed: int) -> None:
    """Begin groups and carry out moves, as told, until the other end is closed."""
    from afk.envs.level_pool import draw_pool
    from afk.envs.registry import make
    from afk.files import keep_compiled_programs
    from afk.play.episode import Episode
    from afk.training.evaluate import fresh_keys

    keep_compiled_programs()
    levels: dict[str, list[Any]] = {task: [] for task in tasks}
    episodes: list[Episode] = []
    while True:
        try:
            order = connection.recv()
        except EOFError:
            return
        if isinstance(order, str):
            env = make(order)
            if not levels[order]:
                seed += 1
                states = jax.device_get(draw_pool(env, fresh_keys(seed)[0], LEVELS).states)
                levels[order] = [jax.tree.map(lambda leaf, at=at: leaf[at], states) for at in range(LEVELS)]
            state = levels[order].pop()
            episodes = [Episode(env, state, macros=True) for _ in range(tries)]
            connection.send([(begin(each.rules), each.observation) for each in episodes])
            continue
        answers = []
        for number, (tool, line) in order:
            each = episodes[number]
            text = each.ask(line) if tool == "ask" else each.act(line)
            answers.append(Seen(text, each.is_over, each.reward, each.success))
        connection.send(answers)


def collect(
    model: SmallModel, words: Words, workers: list[Connection], tasks: list[str], most: int
) -> list[Try]:
    """Play a group of tries on each of as many levels as there are workers, to the end or for some turns."""
    for worker, task in zip(workers, tasks, strict=True):
        worker.send(task)
    tries: dict[tuple[int, int], Try] = {}
    for group, (worker, task) in enumerate(zip(workers, tasks, strict=True)):
        for number, (rules, first) in enumerate(worker.recv()):
            tokens, mine = encode([(False, rules), (False, first)], words)
            tries[group, number] = Try(task, group, tokens, mine, Seen(first, False, 0.0, False))
    while True:
        under_way = [
            at
            for at, each in tries.items()
            if not each.seen.is_over and each.turns < most and len(each.tokens) < CONTEXT - 400
        ]
        if not under_way:
            return list(tries.values())
        under_way.sort(key=lambda at: len(tries[at].tokens))  # rows of a batch are about as long
        replies = model.generate([[*tries[at].tokens, REPLY] for at in under_way])
        orders: dict[int, list[tuple[int, tuple[str, str]]]] = {}
        for at, said in zip(under_way, replies, strict=True):
            said = said[: said.index(END) + 1] if END in said else [*said[: LONGEST - 1], END]
            move = read_said(said, words)
            tries[at] = _add(tries[at], [REPLY, *said], [False, *[True] * len(said)])
            orders.setdefault(at[0], []).append((at[1], (move.tool, move.line)))
        for group, order in orders.items():
            workers[group].send(order)
        for group, order in orders.items():
            for (number, _), seen in zip(order, workers[group].recv(), strict=True):
                read = words.read(seen.text)
                each = tries[group, number]
                tries[group, number] = _add(each, read, [False] * len(read))._replace(
                    seen=seen, turns=each.turns + 1
                )


def _add(each: Try, tokens: list[int], mine: list[bool]) -> Try:
    return each._replace(tokens=each.tokens + tokens, mine=each.mine + mine)


def weigh(tries: list[Try]) -> np.ndarray:
    """The advantage of each try in its group, (tries,) float32; 0 where all paid the same."""
    rewards = np.array([each.seen.reward for each in tries], np.float32)
    groups = np.array([each.group for each in tries])
    advantages = np.zeros_like(rewards)
    for group in set(groups.tolist()):
        of = groups == group
        advantages[of] = (rewards[of] - rewards[of].mean()) / (rewards[of].std() + 1e-4)
    return advantages


def policy_loss(model: Decoder, tokens: jax.Array, mine: jax.Array, advantages: jax.Array) -> jax.Array:
    """Minus what was said, each token weighed by its try's advantage; a sum, not a mean."""
    chosen = score(model, tokens.astype("int32")) * mine[:, 1:]
    return -(chosen * advantages[:, None]).sum()


_policy_gradient = jax.jit(jax.grad(policy_loss))
_expert_gradient = jax.jit(jax.grad(compute_loss))


_apply = jax.jit(apply_gradient, donate_argnums=(0, 1))


def batches(tries: list[Try], advantages: np.ndarray, tokens: int) -> list[tuple[np.ndarray, ...]]:
    """Tries that tell something, in batches of about as long ones; rows of padding fill them up."""
    found = []
    by_length: dict[int, list[int]] = {}
    for number, each in enumerate(tries):
        if advantages[number]:
            by_length.setdefault(bucket(len(each.tokens), LENGTHS), []).append(number)
    for length, numbers in by_length.items():
        rows = max(1, tokens // length)
        for first in range(0, len(numbers), rows):
            part = numbers[first : first + rows]
            whole: list[Row] = [(np.array(tries[at].tokens), np.array(tries[at].mine)) for at in part]
            whole += [(np.zeros(0), np.zeros(0, bool))] * (rows - len(part))
            weights = np.zeros(rows, np.float32)
            weights[: len(part)] = advantages[part]
            found.append((*make_batch(whole, length), weights))
    return found


def improve(
    model: Decoder,
    state: Any,
    tries: list[Try],
    expert: Callable[[], Row | None],
    options: argparse.Namespace,
    rate: float,
) -> tuple[Decoder, Any]:
    """One step on a batch of tries, and on some of the expert's episodes."""
    advantages = weigh(tries)
    said = sum(sum(each.mine) for each in tries)
    gradient = jax.tree.map(np.zeros_like, model)
    for tokens, mine, weights in batches(tries, advantages, options.tokens):
        part = _policy_gradient(model, tokens, mine, weights)
        gradient = jax.tree.map(lambda all_of, each: all_of + each / said, gradient, part)
    if (batch := expert()) is not None:
        part = _expert_gradient(model, *batch)
        gradient = jax.tree.map(lambda all_of, each: all_of + options.expert * each, gradient, part)
    return _apply(model, state, gradient, rate)


def main() -> None:
    """Learn for some minutes; the best is not chosen, the last is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tasks", nargs="+", required=True, help="played in turn; one may come twice")
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="levels at once")
    parser.add_argument("--tries", type=int, default=8, help="at each level")
    parser.add_argument("--turns", type=int, default=50, help="of a try, at most")
    parser.add_argument("--rate", type=float, default=2e-4, help="at first; it falls to 0")
    parser.add_argument("--tokens", type=int, default=16_384, help="of a batch, padding included")
    parser.add_argument("--data", type=Path, help="the expert's episodes as pack.py wrote them")
    parser.add_argument("--expert", type=float, default=0.1, help="the weight of their loss")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    model, words = load(options.model / "model.safetensors"), Words.load(options.model / WORDS)
    words.save(options.out / WORDS)
    small = SmallModel(options.model, 1.0)
    state, random = OPTIMIZER.init(model), np.random.default_rng(0)
    rows: list[Row] = []
    if options.data:
        rows = [row for row in load_rows(options.data / ROWS) if len(row[0]) <= 1024]

    def expert() -> Row | None:
        if not rows:
            return None
        return make_batch([rows[at] for at in random.integers(len(rows), size=options.tokens // 1024)], 1024)

    with ExitStack() as stack:
        workers = begin_workers(stack, options)
        start, step, turn = time.monotonic(), 0, 0
        with (options.out / "log.jsonl").open("w") as log:
            while (share := (time.monotonic() - start) / (60 * options.minutes)) < 1:
                tasks = [options.tasks[(turn + at) % len(options.tasks)] for at in range(len(workers))]
                turn += len(workers)
                tries = collect(small, words, workers, tasks, options.turns)
                rate = options.rate * (1 - share)
                model, state = improve(model, state, tries, expert, options, rate)
                small.learn(model)
                step += 1
                line = {"step": step, "share": round(share, 4), **summarise(tries)}
                log.write(json.dumps(line) + "\n")
                log.flush()
                print(f"step {step}, {share:.0%}, success {line['success']:.1%}", flush=True)
                if step % 20 == 0:
                    save(model, options.out / "model.safetensors")
    save(model, options.out / "model.safetensors")


def begin_workers(stack: ExitStack, options: argparse.Namespace) -> list[Connection]:
    """Processes that play; they end with the stack."""
    context, workers = get_context("spawn"), []
    before = os.environ.get("JAX_PLATFORMS")
    os.environ["JAX_PLATFORMS"] = "cpu"  # the accelerator is the model's
    for number in range(options.workers):
        here, there = context.Pipe()
        arguments = (there, sorted({*options.tasks}), options.tries, SEED + 1_000 * number)
        process = context.Process(target=play, args=arguments, daemon=True)
        process.start()
        there.close()
        stack.callback(process.join)
        workers.append(stack.enter_context(here))
    if before is None:
        del os.environ["JAX_PLATFORMS"]
    else:
        os.environ["JAX_PLATFORMS"] = before
    return workers


def summarise(tries: list[Try]) -> dict[str, Any]:
    """What a batch came to, all in all and task by task."""
    tasks = sorted({each.task for each in tries})
    return {
        "success": float(np.mean([each.seen.success for each in tries])),
        "reward": float(np.mean([each.seen.reward for each in tries])),
        "turns": float(np.mean([each.turns for each in tries])),
        "tasks": {
            task: float(np.mean([each.seen.success for each in tries if each.task == task])) for task in tasks
        },
    }


if __name__ == "__main__":
    main()
