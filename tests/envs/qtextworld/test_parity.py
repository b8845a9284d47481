"""The tensor engine against TextWorld's own, word for word."""

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from afk.envs.qtextworld import parity
from afk.envs.qtextworld.commands import write_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.grammar import textworld
from afk.envs.qtextworld.levels.maker import export_games, make_game, recipe_of
from afk.envs.qtextworld.levels.tasks import Task, paper_tasks
from afk.envs.qtextworld.parity import PLAYERS, compare
from afk.envs.qtextworld.reference import Reference
from afk.envs.qtextworld.world.state import State
from afk.envs.qtextworld.world.things import CUTS, THINGS

from .families import ALL, COOK, KNIFE, MANY

CHALLENGE = {"recipe": 5, "take": 5, "open": True, "cook": False, "drop": False, "go": 1, "recipe_seed": 0}


@pytest.mark.parametrize("task", (*paper_tasks(), COOK, KNIFE, ALL), ids=lambda task: task.name)
def test_every_state_is_the_same(task: Task) -> None:
    compared, found = compare(task, _mixed, games=8, seed=3)
    assert not found, found[:3]
    assert compared > 40


def _mixed(env: QTextWorld, state: object, reference: Reference, rng: np.random.Generator) -> np.ndarray:
    """The expert's next command most of the time, else a plausible or a random one."""
    player = rng.choice(["expert", "plausible", "random"], p=[0.5, 0.4, 0.1])
    return PLAYERS[player](env, state, reference, rng)  # pyright: ignore[reportArgumentType]


def test_what_is_wanted_whole_is_cut_and_lost_in_both_engines() -> None:
    cut = []

    def careless(env: QTextWorld, state: State, reference: Reference, rng: np.random.Generator) -> np.ndarray:
        action = PLAYERS["careless"](env, state, reference, rng)
        verb, name = write_command(env.task, action).split(" ", 1)
        if verb in ("slice", "dice", "chop") and recipe_of(reference._game).get(name, (None,))[0] == 0:
            cut.append(name)
        return action

    _, found = compare(MANY, careless, games=16, seed=4)
    assert not found, found[:3]
    assert len(cut) > 2


@pytest.mark.parametrize("to_cut", [False, True])
def test_foods_can_be_cut_as_in_the_cooking_challenge(to_cut: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against games of the challenge itself, which has other foods but the same rule."""
    cooking = textworld("textworld.challenges.tw_cooking.cooking")
    # It would compile each game with Inform 7 and play it.
    monkeypatch.setattr(textworld().GameMaker, "set_walkthrough", lambda maker, commands: None)
    options = textworld().GameOptions()
    options.seeds = 1
    game = cooking.make(CHALLENGE | {"cut": to_cut, "split": None}, options)
    cuttable = {name for name, food in cooking.FOODS.items() if "cuttable" in food["properties"]}
    theirs = cut_rules(game, cuttable, {name: cut for name, _, cut in game.metadata["ingredients"]})

    ours: Rules = {}
    for seed in range(60):
        game = make_game(Task("take", ingredients=3, cut=to_cut), seed)
        wanted = {name: CUTS[cut] for name, (cut, _) in recipe_of(game).items()}
        ours |= cut_rules(game, {thing.name for thing in THINGS if thing.cuttable}, wanted)
    assert {kind: ours.get(kind) for kind in theirs} == theirs
    assert to_cut or theirs[True, "uncut"] == ({"uncut"}, {"sliced", "diced", "chopped"})


Rules = dict[tuple[bool, str | None], tuple[set[str], set[str]]]


def cut_rules(game: Any, cuttable: set[str], wanted: dict[str, str]) -> Rules:
    """How foods are at the start, and what loses: by whether they can be cut and how they are wanted."""
    fatal = [
        fact for quest in game.quests for event in quest.fail_events for fact in event.condition.preconditions
    ]
    rules: Rules = {}
    for entity, info in game.infos.items():
        if info.type == "f":
            kind = info.name in cuttable, wanted.get(info.name)
            start, loses = (
                {fact.name for fact in facts if fact.names == (entity,)}.intersection(CUTS)
                for facts in (game.world.facts, fatal)
            )
            assert rules.setdefault(kind, (start, loses)) == (start, loses)
    return rules


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
