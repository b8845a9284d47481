"""How soon `afk view` serves a step to one person, and to ten at once who play and watch; prints JSON.

Everybody presses a key four times a second, and opens an episode that nobody has seen yet every five
seconds. One person and many take turns for some rounds, since machines have other work, too; times of all
rounds are taken together, and the ratio of every round is kept. ``--record`` writes ``results/viewers.json``.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from afk.files import write_json
from afk.training.machine import describe_machine

RESULT = Path(__file__).parents[1] / "results" / "viewers.json"
TASK = "qbabyai/object-in-box"
STEPS, PAUSE, WATCH_EVERY = 60, 0.25, 20  # of a person: steps, seconds between them, steps between episodes
Times = tuple[list[float], list[float]]  # seconds that steps took, and episodes
LINES = ("left", "right", "what mary toy")  # what can be said again and again without an end


async def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Steps served to one person and to many.")
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--record", action="store_true", help=f"write {RESULT.name}")
    arguments = parser.parse_args()
    with subprocess.Popen(
        [sys.executable, "-m", "afk", "view", "--port", "0"], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        try:
            await _attend(address, 0, steps=3)  # compiles what there is to compile
            rounds = [
                [await _measure(address, people, turn) for people in (1, arguments.people)]
                for turn in range(arguments.rounds)
            ]
        finally:
            server.terminate()
    rows = [
        _describe(people, times)
        for people, times in zip((1, arguments.people), zip(*rounds, strict=True), strict=True)
    ]
    alone, together = (row["step_ms"]["median"] for row in rows)
    record = {
        "machine": describe_machine(),
        "task": TASK,
        "rows": rows,
        "ratio": together / alone,
        "ratio_by_round": [float(np.median(many[0]) / np.median(one[0])) for one, many in rounds],
    }
    print(json.dumps(record, indent=2))
    if arguments.record:
        write_json(RESULT, record)


async def _measure(address: str, people: int, turn: int) -> Times:
    """So many people at once, on levels that nobody has seen: how long their steps and episodes took."""
    seeds = (10_000 * turn + 100 * people + number for number in range(people))
    times = await asyncio.gather(*(_attend(address, seed) for seed in seeds))
    return [each for steps, _ in times for each in steps], [each for _, watched in times for each in watched]


def _describe(people: int, times: Sequence[Times]) -> dict[str, Any]:
    """What (rounds,) times amount to, in milliseconds."""
    steps, episodes = (np.concatenate(each) * 1e3 for each in zip(*times, strict=True))
    return {"people": people, "step_ms": _summarise(steps), "episode_ms": _summarise(episodes)}


async def _attend(address: str, seed: int, steps: int = STEPS) -> Times:
    """One person: plays a game, and watches an agent on levels of their own now and then."""
    stepping, watching = [], []
    async with httpx.AsyncClient(base_url=address, timeout=120) as client:
        begun = await client.post("api/play", json={"task": TASK, "seed": seed, "level": 0})
        game = f"api/play/{begun.raise_for_status().json()['session']}"
        for number in range(steps):
            await asyncio.sleep(PAUSE * (1 if number else (seed % 10) / 10))  # people are not in step
            start = time.perf_counter()
            line = {"line": LINES[number % len(LINES)]}
            (await client.post(game, json=line)).raise_for_status()
            stepping.append(time.perf_counter() - start)
            if number % WATCH_EVERY == 0:
                start = time.perf_counter()
                params = {"task": TASK, "agent": "pretrained", "seed": seed, "level": number // WATCH_EVERY}
                (await client.get("api/episode", params=params)).raise_for_status()
                watching.append(time.perf_counter() - start)
    return stepping, watching


def _summarise(milliseconds: np.ndarray) -> dict[str, float]:
    """The median and the 95th percentile of (times,)."""
    return {"median": float(np.median(milliseconds)), "p95": float(np.percentile(milliseconds, 95))}


if __name__ == "__main__":
    asyncio.run(main())
