"""Every variant plays and learns; what is new in the improved agent."""

from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Size
from afk.agents.grid_agent import ACT, ASK, GridAgent
from afk.agents.networks.heads import Pointer
from afk.agents.notebook import open_notebook, write
from afk.agents.plus_agent import CellNoteAttention
from afk.agents.variants import VARIANTS
from afk.envs.level_pool import Pool, draw_pool
from afk.envs.qbabyai.world.words import RESPONSE_LENGTH, VOCABULARY
from afk.learning.ppo import Settings, loss
from afk.learning.rollout import Play, collect, open_levels, read, start_actors
from afk.learning.schedules import Schedules
from afk.learning.sequences import Sequences

from .small_agents import ENV, RULES, build, build_plus, images, reading_of

ENVIRONMENTS, STEPS = 4, 24

take_note = jax.jit(partial(write, rules=RULES))


@lru_cache
def pool() -> Pool:
    return draw_pool(ENV, jax.random.key(14), 32)


CORE = ("afk", "query", "no-query", "afk-plus")
EVERY = [name if name in CORE else pytest.param(name, marks=pytest.mark.slow) for name in VARIANTS]


@pytest.mark.parametrize("name", EVERY)
def test_every_variant_plays_and_learns_with_all_of_its_parameters(name: str) -> None:
    variant = VARIANTS[name]
    agent = build_plus(name) if variant.network == "plus" else build(name)
    play = Play(ENV, variant, RULES)
    training_levels = open_levels(play, pool())
    actors = start_actors(agent, training_levels, ENVIRONMENTS)
    _, experience, _ = eqx.filter_jit(collect)(
        play, agent, training_levels, actors, jax.random.key(15), steps=STEPS
    )
    asked = np.asarray(experience.action[..., 0] == ASK)
    assert asked.any() == variant.asks and not asked.all()
    if isinstance(agent, GridAgent):
        assert isinstance(agent.noun, Pointer) == isinstance(agent.adjective, Pointer) == variant.pointer
        query_heads = (agent.switch, agent.function, agent.adjective, agent.noun)
        assert all((head is not None) == variant.asks for head in query_heads)

    advantage, target = jax.random.normal(jax.random.key(16), (2, ENVIRONMENTS, STEPS))
    pieces = jax.tree.map(lambda leaf: leaf.swapaxes(0, 1), experience)
    sequences = Sequences(pieces, actors.memory, advantage, target)
    params, static = eqx.partition(agent, eqx.is_inexact_array)
    schedules = Schedules(*map(jnp.float32, (0.1, 1e-4, 0.01, 0.01, 1)))
    losses = jax.jit(lambda each: loss(eqx.combine(each, static), sequences, Settings(), schedules))
    gradient, _ = jax.grad(losses, has_aux=True)(params)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert np.isfinite(leaf).all() and (leaf != 0).any(), jax.tree_util.keystr(path)


def test_all_that_the_improved_agent_may_do_has_probability_one() -> None:
    agent, reading = build_plus(), reading_of()
    count = len(reading.instruction)
    inputs = jax.tree.map(lambda leaf: leaf[None], (images(count), reading, jnp.zeros(count, bool)))
    _, output = agent(agent.first_state(count), *inputs)
    acts = np.array([[ACT, action, 0, 0, 0] for action in range(ENV.action_sizes[1])])
    sizes = ENV.action_sizes[2:]
    asks = np.array([[ASK, 0, *words] for words in np.ndindex(*sizes)])
    chances = []
    for action in (acts, asks):
        each = jnp.broadcast_to(jnp.asarray(action)[:, None, None], (len(action), 1, count, 5))
        evaluate_actions = jax.jit(
            jax.vmap(lambda one: agent.evaluate_actions(output, one, pays_for_asking=False))
        )
        chances.append(np.exp(evaluate_actions(each).log_probability).sum(0))
    np.testing.assert_allclose(chances[0] + chances[1], 1, rtol=1e-4)
    assert (chances[1] > 0.1).all()


def test_what_is_in_a_cell_finds_the_note_that_names_it() -> None:
    width = 64
    table = jax.random.normal(jax.random.key(17), (8, width)) * 0.5
    red, blue, ball, key = table[:4]
    words = jnp.stack([red + ball + table[4], blue + ball + table[5], table[6]])[None]
    notes = jax.random.normal(jax.random.key(18), (1, 3, width))
    cells = jnp.stack([red + ball, blue + ball, blue + key, 0 * red])[None, None]
    attention = CellNoteAttention(width, key=jax.random.key(19))
    found = np.asarray(attention(cells, words, notes, jnp.ones((1, 3), bool)))[0, 0]
    values = np.asarray(attention.value(notes))[0]
    nearest = np.argmin(((found[:3, None] - values) ** 2).sum(-1), -1)
    assert nearest.tolist() == [0, 1, 1]
    without = attention(cells, words, notes, jnp.array([[False, True, True]]))[0, 0, 0]
    assert ((found[0] - without) ** 2).sum() > 0.1


@pytest.mark.parametrize("keeps_answer", [False, True])
def test_an_answer_is_in_view_for_one_step_or_until_the_next(keeps_answer: bool) -> None:
    play = Play(ENV, VARIANTS["query"], RULES, keeps_answer)
    training_levels = open_levels(play, pool())
    agent = build("query")
    actors = start_actors(agent, training_levels, ENVIRONMENTS)
    soon_over = jnp.full(ENVIRONMENTS, ENV.max_steps - STEPS // 2)
    actors = eqx.tree_at(lambda each: each.batch.states.step, actors, soon_over)
    _, experience, _ = eqx.filter_jit(collect)(
        play, agent, training_levels, actors, jax.random.key(15), steps=STEPS
    )
    asked, starts = (np.asarray(each) for each in (experience.action[..., 0] == ASK, experience.starts))
    in_view = np.asarray((experience.reading.notes != 0).any((-2, -1)))
    expected, shows = np.zeros_like(in_view), np.zeros(ENVIRONMENTS, bool)
    for step in range(STEPS):
        shows &= ~starts[step]  # an episode begins with nothing in view
        expected[step] = shows
        shows = asked[step] | shows & keeps_answer
    assert np.array_equal(in_view, expected) and starts[1:].any()
    assert (in_view[1:] & ~asked[:-1]).any() == keeps_answer


@pytest.mark.parametrize("name", ["afk", "afk-no-notebook"])
def test_what_is_read_holds_all_that_was_answered(name: str) -> None:
    """Answers may come behind a clause of noise."""
    agent = build(name, Size(width=8))
    notebook = open_notebook(jnp.asarray(VOCABULARY.encode("find mary toy", RULES.words)), rules=RULES)
    for answer in ("mary toy is green ball", "different from tim, green ball in mary suitcase"):
        latest = jnp.asarray(VOCABULARY.encode(answer, RESPONSE_LENGTH))
        notebook, _ = take_note(notebook, latest)
    batch = jax.tree.map(lambda leaf: leaf[None], (notebook, latest))
    reading = read(Play(ENV, VARIANTS[name], RULES), agent, *batch)
    words = VOCABULARY.decode(np.asarray(reading.notes[0]).reshape(-1)).replace(",", "").split()
    assert {"green", "ball", "mary", "suitcase"} <= set(words)
    assert ("toy" in words) == (name == "afk"), "the answer before the last is read in the notebook only"
