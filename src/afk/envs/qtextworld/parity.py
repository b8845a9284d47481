"""Plays games in the tensor engine and in TextWorld's side by side, and says where they differ."""

from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import numpy as np

from afk.envs.core import TimeStep
from afk.envs.qtextworld import solver
from afk.envs.qtextworld.commands import possible_commands, read_command, write_command
from afk.envs.qtextworld.environment import QTextWorld
from afk.envs.qtextworld.levels.maker import export_games, make_game
from afk.envs.qtextworld.levels.tasks import Task
from afk.envs.qtextworld.reference import Reference, Step
from afk.envs.qtextworld.world import words
from afk.envs.qtextworld.world.state import Observation, State
from afk.envs.qtextworld.world.things import PIECES, THINGS
from afk.language import NONE

Player = Callable[[QTextWorld, State, Reference, np.random.Generator], np.ndarray]


def compare(task: Task, player: Player, *, games: int, seed: int) -> tuple[int, list[str]]:
    """Play so many games to their end.

    Args:
        task: what the games are drawn from.
        player: one of `PLAYERS`.
        games: how many.
        seed: of the games and of what is played.

    Returns:
        How many states were compared, first ones included, and a line for every one that differs.
    """
    made = [
        make_game(task, seed=game)
        for game in np.random.default_rng(seed).integers(2**31, size=games).tolist()
    ]
    states, bank = export_games(task, made)
    env = QTextWorld(task, bank)
    reference = Reference(task, env.vocabulary)
    rng, compared, found = np.random.default_rng(seed), 0, []
    step, observe = jax.jit(env.step), jax.jit(env.observe)
    for number, game in enumerate(made):
        state = jax.tree.map(lambda leaf, number=number: leaf[number], states)
        for command, differences in _play(env, state, reference, game, player, rng, step, observe):
            compared += 1
            found += [f"{task.name}, game {number}, {command!r}: {each}" for each in differences]
    return compared, found


def _play(
    env: QTextWorld,
    state: State,
    reference: Reference,
    game: Any,
    player: Player,
    rng: np.random.Generator,
    step: Callable,
    observe: Callable,
) -> Iterator[tuple[str, list[str]]]:
    """Every command of a game, and what differs after it."""
    yield "start", _observation_differences(env, observe(state), reference.reset(game))
    is_over = False
    while not is_over:
        action = player(env, state, reference, rng)
        command = write_command(env.task, action)
        state, ours = step(state, action)
        theirs = reference.step(command)
        differences = _differences(env, ours, theirs)
        if possible_commands(env.task, state) != reference.commands:
            differences.append(f"{possible_commands(env.task, state)} can be done, not {reference.commands}")
        yield command, differences
        is_over = theirs.terminated or theirs.truncated


def _differences(env: QTextWorld, ours: TimeStep, theirs: Step) -> list[str]:
    differences = _observation_differences(env, ours.observation, theirs.observation)
    pairs = {
        "score": (float(ours.reward), theirs.score),
        "terminated": (bool(ours.terminated), theirs.terminated),
        "truncated": (bool(ours.truncated), theirs.truncated),
        "success": (bool(ours.success), theirs.success),
    }
    return differences + [
        f"{name} {mine} instead of {its}" for name, (mine, its) in pairs.items() if mine != its
    ]


def _observation_differences(env: QTextWorld, ours: Observation, theirs: Observation) -> list[str]:
    decode = env.vocabulary.decode
    return [
        f"{name} {decode(mine)!r} instead of {decode(its)!r}"
        for name in ("text", "mission", "response")
        for mine, its in [(getattr(ours, name), getattr(theirs, name))]
        if not np.array_equal(mine, its)
    ]


def play_randomly(
    env: QTextWorld, state: State, reference: Reference, rng: np.random.Generator
) -> np.ndarray:
    """Any three words; hardly any of them can be done."""
    del state, reference
    return rng.integers(0, env.action_sizes).astype(np.int32)


def play_plausibly(
    env: QTextWorld, state: State, reference: Reference, rng: np.random.Generator
) -> np.ndarray:
    """A command that the engine would carry out, or any function word with a name or two halves of names."""
    possible = reference.commands
    if possible and rng.random() < 0.5:
        return read_command(env.task, possible[rng.integers(len(possible))])
    used = np.asarray(state.game.things)
    names = [THINGS[thing].words for thing in used[used >= 0]]
    names += [(NONE, PIECES[piece].name) for piece in np.asarray(state.game.pieces)]
    (adjective, noun), (_, other) = (names[index] for index in rng.integers(len(names), size=2))
    noun = noun if rng.random() < 0.8 else other
    function = rng.integers(len(env.task.functions))
    return np.array([function, words.ADJECTIVES.index(adjective), words.NOUNS.index(noun)], np.int32)


def play_well(env: QTextWorld, state: State, reference: Reference, rng: np.random.Generator) -> np.ndarray:
    """What the expert does."""
    del reference, rng
    return np.asarray(eqx.filter_jit(solver.act)(env.task, state))


def play_carelessly(
    env: QTextWorld, state: State, reference: Reference, rng: np.random.Generator
) -> np.ndarray:
    """Take the knife, then everything else, and cut all that can be cut, in any way."""
    possible = reference.commands
    for wish in (" with knife", "take knife", "open ", ""):
        if wished := [command for command in possible if wish in command]:
            return read_command(env.task, wished[rng.integers(len(wished))])
    return play_randomly(env, state, reference, rng)


PLAYERS: dict[str, Player] = {
    "random": play_randomly,
    "plausible": play_plausibly,
    "expert": play_well,
    "careless": play_carelessly,
}
