"""Ten thousand levels of every task against the specification, and against giving away what must be asked."""

from functools import partial
from itertools import combinations, product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from afk.envs import registry
from afk.envs.level_pool import Pool, draw_pool
from afk.envs.qbabyai.curriculum import hints
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import UNKNOWN as DONT_KNOW
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.knowledge.facts import FactTable, ask, available

from ...agents.notebook_reference import ReferenceNotebook
from .leaks import Categories, dependence, guesses, identities, looks, places, rivers_of
from .level_checks import faults, plan_checks, river_checks, route_checks, start_checks, thing_checks
from .levels import ANY, NAMES, TILE, YELLOW, Levels, question
from .oracle_checks import fact_checks, query_checks
from .paper import PAPER

pytestmark = pytest.mark.slow

COUNT = 10_000
CHANCE = 1e-6  # how unlikely a coincidence must be to count as dependence; seeds are fixed

WITH_BOXES, WITH_DANGER = (
    tuple(name for name, expected in PAPER.items() if suit in expected.suits) for suit in "CS"
)


@pytest.fixture(scope="module", params=PAPER)
def pool(request: pytest.FixtureRequest) -> tuple[str, Pool[State]]:
    seed = list(PAPER).index(request.param)
    return request.param, draw_pool(registry.make(f"qbabyai/{request.param}"), jax.random.key(seed), COUNT)


@pytest.fixture(scope="module")
def levels(pool: tuple[str, Pool[State]]) -> Levels:
    name, drawn = pool
    return Levels(drawn.states, PAPER[name])


def test_levels_differ(levels: Levels) -> None:
    states = levels.states
    parts = (levels.grid.reshape(COUNT, -1), states.position, states.direction[:, None])
    assert (
        len(np.unique(np.concatenate(parts, axis=1, dtype=np.uint8, casting="unsafe"), axis=0)) > 0.98 * COUNT
    )


def test_rooms_and_doors(levels: Levels) -> None:
    problems = faults(plan_checks(levels))
    assert not problems


def test_the_start(levels: Levels) -> None:
    problems = faults(start_checks(levels))
    assert not problems


def test_things_and_their_descriptions(levels: Levels) -> None:
    problems = faults(thing_checks(levels))
    assert not problems


def test_there_is_a_way_and_it_takes_knowledge(levels: Levels) -> None:
    problems = faults(route_checks(levels))
    assert not problems


def test_rivers(levels: Levels) -> None:
    problems = faults(river_checks(levels))
    assert not problems


@pytest.mark.parametrize("pool", WITH_DANGER, indirect=True)
def test_half_of_the_tiles_are_dangerous(levels: Levels) -> None:
    tiles = levels.kind == TILE
    for colour in (YELLOW, levels.danger[:, None, None]):
        share = (tiles & (levels.colour == colour)).sum((1, 2)) / tiles.sum((1, 2))
        assert abs(share.mean() - 0.5) < 5 * share.std() / np.sqrt(COUNT)


def test_facts_are_true_and_complete(levels: Levels) -> None:
    problems = faults(fact_checks(levels))
    assert not problems


def test_good_queries_lead_to_the_target(levels: Levels) -> None:
    problems = faults(query_checks(levels))
    assert not problems


@jax.jit
def is_known(facts: FactTable, queries: jax.Array, on_the_spot: jax.Array) -> jax.Array:
    """Whether (n, 3) queries get another answer than that nothing is known: (n,) bool."""
    unknown = jnp.asarray(DONT_KNOW)
    replies = jax.vmap(lambda table, query: ask(available(table, on_the_spot), query, unknown=unknown))(
        facts, queries
    )
    return replies.is_told & (replies.tokens != unknown).any(-1)


def test_the_oracle_answers_good_queries(levels: Levels) -> None:
    good = np.asarray(levels.level.good_queries).astype(int)
    rng = np.random.default_rng(0)
    for place in range(good.shape[1]):
        query, is_used = good[:, place], good[:, place, 0] >= 0
        any_adjective = rng.integers(len(VOCABULARY.adjectives), size=len(query))
        about_key = query[:, 1] == ANY
        query = np.where((np.arange(3) == 1) & about_key[:, None], any_adjective[:, None], query)
        here, elsewhere = (is_known(levels.states.facts, query, jnp.bool_(spot)) for spot in (True, False))
        assert np.array_equal(here, is_used)
        assert np.array_equal(elsewhere, is_used & ~about_key)


def test_pairs_of_words_relate_every_good_answer_to_the_instruction(pool: tuple[str, Pool[State]]) -> None:
    name, drawn = pool
    states = jax.tree.map(lambda leaf: leaf[:20], drawn.states)
    known = jax.device_get(jax.vmap(partial(hints, registry.make(f"qbabyai/{name}")))(states))
    for mission, answers in zip(jax.device_get(states.level.mission), known, strict=True):
        notebook = ReferenceNotebook(VOCABULARY.decode(mission), 2, 0.01, 64)
        good = [text for text in map(VOCABULARY.decode, answers) if text]
        for answer in good:
            notebook.write(answer)
        assert len(good) == len(PAPER[name].questions) and len(notebook.sets[0]) == 1 + len(good)


@pytest.fixture(scope="module")
def drawn(levels: Levels) -> Categories:
    return identities(levels)


@pytest.fixture(scope="module")
def around(levels: Levels) -> Categories:
    return places(levels)


def test_whatever_is_asked_for_is_drawn_evenly(levels: Levels, drawn: Categories) -> None:
    expected = levels.expected
    options = {"direction": 4, "danger": 2, "name": 2, "key in the table": 2}
    options |= {"target": expected.candidates, "look of the target": expected.candidates}
    options |= {"key": expected.keys, "look of the key": expected.keys}
    for name, values in drawn.items():
        counts = np.unique(values, return_counts=True)[1]
        assert len(counts) == options[name], name
        assert stats.chisquare(counts)[1] > CHANCE, name
    if "H" in expected.suits:
        assert stats.chisquare(np.bincount(levels.key_colour, minlength=6))[1] > CHANCE


def test_nothing_in_sight_tells_what_must_be_asked(
    levels: Levels, drawn: Categories, around: Categories
) -> None:
    look = looks(levels)
    pairs = [*product(drawn.items(), (around | look).items()), *product(look.items(), around.items())]
    pairs += combinations(drawn.items(), 2)
    if "H" in levels.expected.suits:
        fitting = ("colour of the fitting key", levels.key_colour)
        doors = {f"colour of the {what}": look[f"colour of the {what}"] for what in ("door", "lock")}
        pairs += product([fitting], (around | doors).items())
    leaks = {
        (one, other): chance
        for (one, first), (other, second) in pairs
        if (chance := dependence(first, second)) < CHANCE
    }
    assert not leaks


@pytest.mark.parametrize("pool", WITH_BOXES, indirect=True)
def test_noise_in_answers_tells_nothing(levels: Levels, drawn: Categories) -> None:
    oracle = levels.oracle
    noise = np.array([text.split(",")[0] if "," in text else "" for text in oracle.texts])
    for words in [("where", colour, "ball") for colour in ("blue", "green")] + [
        ("what", name, "suitcase") for name in NAMES
    ]:
        heard = noise[oracle.ask(question(*words))]
        assert len(np.unique(heard)) == 3
        for name, values in drawn.items():
            assert dependence(heard, values) > CHANCE, (words, name)


def test_no_fitted_guess_beats_chance(
    levels: Levels, pool: tuple[str, Pool[State]], drawn: Categories, around: Categories
) -> None:
    image = np.asarray(pool[1].observations.image).astype(int)
    in_view = rivers_of(image[..., 0], image[..., 1])
    rivers = rivers_of(levels.kind, levels.colour)
    sights = looks(levels) | around
    features = np.concatenate(
        [
            *(each.reshape(len(levels), -1) for each in (in_view, rivers)),
            *(values[:, None] == np.unique(values) for values in sights.values()),
            np.stack(list(around.values()), axis=1),
        ],
        axis=1,
        dtype=np.float32,
    )
    assert {name: score for name, score in guesses(features, drawn).items() if score > 5} == {}


def test_a_leak_would_be_found() -> None:
    rng = np.random.default_rng(1)
    hint = rng.integers(0, 3, COUNT)
    leaked = np.where(rng.random(COUNT) < 0.1, hint == 0, rng.random(COUNT) < 0.5)
    assert dependence(hint, leaked) < CHANCE
    features = rng.normal(size=(COUNT, 60))
    coin = rng.random(COUNT)
    scores = guesses(
        features,
        {
            "linear": (features[:, 0] > 0) ^ (coin < 0.4),
            "not linear": (features[:, :3] ** 2).sum(1) > 2.4,
            "chance": coin < 0.5,
        },
    )
    assert scores["linear"] > 5
    assert scores["not linear"] > 5
    assert abs(scores["chance"]) < 5
