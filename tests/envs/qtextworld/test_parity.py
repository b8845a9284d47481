"""The tensor engine against TextWorld's own, word for word."""

import os
import subprocess
import sys

import numpy as np
import pytest

from afk.envs.qtextworld import parity
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.maker import export_games, make_game, recipe_of
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.parity import PLAYERS, compare
from afk.envs.qtextworld.reference import Reference

from .families import ALL, COOK, KNIFE


@pytest.mark.parametrize("task", (*paper_tasks(), COOK, KNIFE, ALL), ids=lambda task: task.name)
def test_every_state_is_the_same(task: Task) -> None:
    compared, found = compare(task, _mixed, games=8, seed=3)
    assert not found, found[:3]
    assert compared > 40


def _mixed(env: QTextWorld, state: object, reference: Reference, rng: np.random.Generator) -> np.ndarray:
    """The expert's next command most of the time, else a plausible or a random one."""
    player = rng.choice(["expert", "plausible", "random"], p=[0.5, 0.4, 0.1])
    return PLAYERS[player](env, state, reference, rng)  # pyright: ignore[reportArgumentType]


def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    export = parity.export_games

    def misplace(task: Task, games: list) -> tuple:
        states, bank = export(task, games)
        return states.__class__(**{**vars(states), "place": states.place * 0}), bank

    monkeypatch.setattr(parity, "export_games", misplace)
    _, found = compare(paper_tasks()[0], PLAYERS["expert"], games=4, seed=0)
    assert found


def test_games_are_determined_by_their_seed() -> None:
    task = paper_tasks()[3]
    one, same, other = (make_game(task, seed) for seed in (1, 1, 2))
    texts = [game.infos[game.world.rooms[0].id].desc for game in (one, same, other)]
    assert texts[0] == texts[1] != texts[2]
    assert recipe_of(one) == recipe_of(same)


def test_the_reference_says_what_can_be_done() -> None:
    task = paper_tasks()[0]
    game = make_game(task, 0)
    env = QTextWorld(task, export_games(task, [game])[1])
    reference = Reference(task, env.vocabulary)
    reference.reset(game)
    assert "open fridge" in reference.commands
    step = reference.step("open fridge")
    assert env.vocabulary.decode(step.observation.text).startswith("opened.")
    assert "open fridge" not in reference.commands


_DIGEST = """
import hashlib
import numpy as np
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.maker import export_games, make_game
from afk.envs.qtextworld.reference import Reference
from afk.envs.qtextworld.levels.tasks import Task
import jax
task = Task("mine", ingredients=3, cut=True, furniture=5, distractors=5)
games = [make_game(task, seed) for seed in range(4)]
states, bank = export_games(task, games)
env = QTextWorld(task, bank)
digest = hashlib.sha256(bank.checksum.encode())
for leaf in jax.tree.leaves(states):
    digest.update(np.asarray(leaf).tobytes())
reference = Reference(task, env.vocabulary)
for game in games:
    reference.reset(game)
    for command in ("open fridge", "open oven", "ask charlie where knife"):
        digest.update(np.asarray(reference.step(command).observation.text).tobytes())
print(digest.hexdigest())
"""


def test_nothing_depends_on_the_hash_seed() -> None:
    command = [sys.executable, "-c", _DIGEST]
    processes = [
        subprocess.Popen(
            command, env=os.environ | {"PYTHONHASHSEED": seed}, stdout=subprocess.PIPE, text=True
        )
        for seed in ("0", "1")
    ]
    digests = [process.communicate()[0] for process in processes]
    assert len(digests[0]) == 65
    assert digests[0] == digests[1]
