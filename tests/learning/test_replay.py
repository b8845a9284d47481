"""Replay against the same in plain Python: what is kept, what is drawn, and what it is worth."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afk.agents.reading import Reading
from afk.learning.replay import Ending, Replay, Step, Transitions, add, draw, empty_replay

COUNT, LONGEST, CAPACITY = 3, 4, 36  # each ring holds 18 rows
DISCOUNT, BONUS, MULTI_STEP = 0.9, 0.1, 3
DRAWN = 512
SEED = 1  # of episodes of every kind

Name = tuple[int, int, int]  # of an observation: its environment, the episode there, the step of that


class Play(NamedTuple):
    """Steps of all environments, (steps, COUNT) each."""

    step: Step
    following: Step
    ending: Ending


class Episode(NamedTuple):
    """An episode played by hand."""

    environment: int
    number: int
    rewards: list[float]
    terminated: bool
    success: bool

    @property
    def names(self) -> list[Name]:
        """The observations that are kept: of every step, and the last one if nothing ended there."""
        rows = len(self.rewards) + (not self.terminated)
        return [(self.environment, self.number, step) for step in range(rows)]


def a_step(names: np.ndarray, rewards: np.ndarray, grew: np.ndarray) -> Step:
    """(..., 3) names as what is seen and as what is read."""
    seen = jnp.asarray(names, jnp.uint16)
    reading = Reading(seen + 1, jnp.stack([seen, seen + 2], -2))
    return Step(seen, reading, seen.astype(jnp.uint8), jnp.asarray(rewards, jnp.float32), jnp.asarray(grew))


def invent(seed: int, steps: int) -> tuple[Play, list[Episode]]:
    """Random episodes side by side, and those that ended, in the order in which they did."""
    rng = np.random.default_rng(seed)
    chance_to_end, chance_to_win = rng.uniform(0.1, 0.6), rng.choice([0.0, 0.3, 0.5, 1.0])
    names, later = np.zeros((2, steps, COUNT, 3), int)
    rewards, grew = rng.normal(size=(steps, COUNT)).round(2), rng.random((steps, COUNT)) < 0.4
    terminated, truncated, success = np.zeros((3, steps, COUNT), bool)
    ended, under_way = [], [Episode(environment, 0, [], False, False) for environment in range(COUNT)]
    for now in range(steps):
        for environment, episode in enumerate(under_way):
            names[now, environment] = environment, episode.number, len(episode.rewards)
            later[now, environment] = environment, episode.number, len(episode.rewards) + 1
            episode.rewards.append(float(rewards[now, environment] + BONUS * grew[now, environment]))
            terminated[now, environment] = is_over = rng.random() < chance_to_end
            success[now, environment] = is_won = is_over and rng.random() < chance_to_win
            truncated[now, environment] = is_cut = len(episode.rewards) == LONGEST and not is_over
            if is_over or is_cut:
                ended.append(episode._replace(terminated=is_over, success=is_won))
                under_way[environment] = Episode(environment, episode.number + 1, [], False, False)
    play = Play(
        a_step(names, rewards, grew),
        a_step(later, np.zeros_like(rewards), np.zeros_like(grew)),
        Ending(jnp.asarray(terminated), jnp.asarray(truncated), jnp.asarray(success)),
    )
    return play, ended


def nothing() -> Replay:
    blank = a_step(np.zeros((COUNT, 3)), np.zeros(COUNT), np.zeros(COUNT, bool))
    return empty_replay(blank, capacity=CAPACITY, longest=LONGEST)


@jax.jit
def fill(replay: Replay, play: Play) -> Replay:
    return jax.lax.scan(lambda replay, now: (add(replay, *now), None), replay, play)[0]


@jax.jit
def draw_many(replay: Replay, key: jax.Array) -> Transitions:
    return draw(
        *(replay, key), count=DRAWN, multi_step=MULTI_STEP, discount=DISCOUNT, bonus=jnp.float32(BONUS)
    )


def kept(episodes: list[Episode], *, won: bool) -> dict[Name, Episode]:
    """The steps that a ring holds: those in the rows that were written last."""
    rows = [(name, episode) for episode in episodes if episode.success == won for name in episode.names]
    return {name: episode for name, episode in rows[-CAPACITY // 2 :] if name[2] < len(episode.rewards)}


def name_of(seen: Any) -> Name:
    environment, number, step = seen.tolist()
    return environment, number, step


def check_worth(drawn: Transitions, index: int, episode: Episode) -> int:
    """Compare a transition with its definition; returns over how many steps it reaches."""
    step, left = int(drawn.step.seen[index][2]), len(episode.rewards) - int(drawn.step.seen[index][2])
    if drawn.discount[index] == 0:
        assert episode.terminated
        reach = left
    else:
        reach = int(drawn.seen[index][2]) - step
        assert name_of(drawn.seen[index]) == (episode.environment, episode.number, step + reach)
        assert reach < left or not episode.terminated
        assert drawn.discount[index] == pytest.approx(DISCOUNT**reach)
        np.testing.assert_array_equal(drawn.reading.instruction[index], drawn.seen[index] + 1)
    assert 1 <= reach <= min(MULTI_STEP, left)
    rewards = episode.rewards[step : step + reach]
    expected = sum(DISCOUNT**later * reward for later, reward in enumerate(rewards))
    assert drawn.gain[index] == pytest.approx(expected, abs=1e-5)
    np.testing.assert_array_equal(drawn.step.action[index], drawn.step.seen[index])
    return reach


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, derandomize=True)
@pytest.mark.slow
def test_every_step_that_is_kept_is_drawn_and_is_worth_what_followed(seed: int) -> None:
    play, episodes = invent(seed, 40)
    won, rest = kept(episodes, won=True), kept(episodes, won=False)
    drawn = jax.device_get(draw_many(fill(nothing(), play), jax.random.key(seed)))
    names = [name_of(seen) for seen in drawn.step.seen]
    found = {name for name, exists in zip(names, drawn.exists, strict=True) if exists}
    assert found == won.keys() | rest.keys()
    assert drawn.exists.mean() > 0.95
    reaches = set()
    for index in np.flatnonzero(drawn.exists).tolist():
        episode = (won | rest)[names[index]]
        reaches.add((check_worth(drawn, index, episode), len(episode.rewards) - names[index][2]))
    # Last steps reach over one step, those before over two at most, and none falls short otherwise.
    held = {len(episode.rewards) - name[2] for name, episode in (won | rest).items()}
    assert reaches == {(reach, left) for left in held for reach in range(1, min(MULTI_STEP, left) + 1)}
    in_won = [name in won for name in names]
    if won and rest:
        assert all(in_won[: DRAWN // 2]) and not any(in_won[DRAWN // 2 :])


def test_the_last_step_is_drawn_with_a_terminal_mask_unless_time_ran_out() -> None:
    play, episodes = invent(SEED, 40)
    drawn = jax.device_get(draw_many(fill(nothing(), play), jax.random.key(0)))
    ended = {episode.names[-1]: episode for episode in episodes if episode.terminated}
    cut_off = {(*episode.names[-1][:2], LONGEST - 1) for episode in episodes if not episode.terminated}
    names = [name_of(seen) for seen in drawn.step.seen]
    masks = [drawn.discount[index] for index, name in enumerate(names) if name in ended]
    assert len(masks) > 50 and not np.any(masks)
    discounts = [drawn.discount[index] for index, name in enumerate(names) if name in cut_off]
    assert len(discounts) > 10 and np.allclose(discounts, DISCOUNT)


def test_steps_and_reaches_are_drawn_evenly() -> None:
    play, episodes = invent(SEED, 40)
    replay = fill(nothing(), play)
    drawn = jax.device_get([draw_many(replay, jax.random.key(seed)) for seed in range(20)])
    names = [name_of(seen) for each in drawn for seen in each.step.seen]
    for won in (True, False):
        steps = kept(episodes, won=won)
        counts = np.array([names.count(name) for name in steps])
        expected = 20 * DRAWN / 2 / len(steps)
        assert len(steps) > 6 and np.all(np.abs(counts - expected) < 5 * expected**0.5)
    steps = kept(episodes, won=True) | kept(episodes, won=False)
    reaches = [
        check_worth(each, index, steps[name])
        for each in drawn
        for index, name in enumerate(map(name_of, each.step.seen))
        if name in steps and len(steps[name].rewards) - name[2] >= MULTI_STEP
    ]
    shares = np.bincount(reaches) / len(reaches)
    assert len(reaches) > 1000 and shares == pytest.approx([0, 1 / 3, 1 / 3, 1 / 3], abs=0.05)


def test_an_episode_is_not_drawn_from_before_it_ends() -> None:
    play, _ = invent(SEED, 40)
    going_on = jax.tree.map(jnp.zeros_like, play.ending)
    replay = fill(nothing(), jax.tree.map(lambda leaf: leaf[:2], play._replace(ending=going_on)))
    assert not replay.held.any() and not draw_many(replay, jax.random.key(0)).exists.any()
    won = Ending(*(jnp.full((1, COUNT), flag) for flag in (True, False, True)))
    step, following = jax.tree.map(lambda leaf: leaf[:1], play[:2])
    replay = fill(replay, Play(step, following, won))
    assert replay.held.tolist() == [3 * COUNT, 0] and not replay.length.any()
    assert draw_many(replay, jax.random.key(0)).exists.all()


def test_a_replay_that_one_step_could_overfill_is_refused() -> None:
    blank = a_step(np.zeros((COUNT, 3)), np.zeros(COUNT), np.zeros(COUNT, bool))
    with pytest.raises(ValueError, match="a replay of 29 steps is too small for 3 episodes of 4 steps"):
        empty_replay(blank, capacity=29, longest=LONGEST)
