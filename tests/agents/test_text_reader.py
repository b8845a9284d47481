"""The paper's network for text: what it may say, what its noise does, and what its values depend on."""

from dataclasses import replace
from itertools import product
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Size
from afk.agents.networks import transformer
from afk.agents.networks.noisy import NoisyLinear
from afk.agents.reading import Reading
from afk.agents.text_reader import TextReader, best_value, value_of
from afk.agents.variants import VARIANTS
from afk.language import NONE, PAD
from afk.learning import dqn

from ..small_games import small_game

WORDS = small_game().vocabulary
SIZE = Size(
    width=8, head=8, view_layers=2, kernel=7, instruction_words=28, notes=3, note_words=12, distinct_notes=0
)
TOKENS = 40  # of what is seen
GAMES = (  # what is seen, the instruction, notes
    ("taken. a kitchen. a closed fridge.", "collect red apple", ("red apple fridge", "fridge kitchen")),
    (
        "invalid command. a kitchen.",
        "collect parsley",
        ("parsley oven", "parsley diced uncooked use knife cut it"),
    ),
    ("opened. an empty oven.", "collect red apple black pepper", ()),
    ("you enter a kitchen. a closed fridge. a closed oven.", "collect carrot", ("carrot counter",)),
)
SAYABLE = (  # adjectives and nouns of A_0
    ({NONE, "red"}, {"apple", "fridge"}),
    ({NONE}, {"parsley", "oven", "knife"}),
    ({NONE, "red", "black"}, {"apple", "pepper"}),
    ({NONE}, {"carrot", "counter"}),
)


def build(variant: str = "afk", size: Size = SIZE, sigma: float = 0.5) -> TextReader:
    return TextReader(VARIANTS[variant], size, WORDS, sigma=sigma, key=jax.random.key(0))


def situation(*, tokens: int = TOKENS, notes: int = SIZE.notes) -> tuple[jax.Array, Reading]:
    """What is seen and read in all games."""
    seen = np.stack([WORDS.encode(game[0], tokens) for game in GAMES])
    instruction = np.stack([WORDS.encode(game[1], 28) for game in GAMES])
    rows = [[*game[2], "", "", ""][:notes] for game in GAMES]
    written = np.stack([[WORDS.encode(note, 12) for note in each] for each in rows])
    return jnp.asarray(seen), Reading(jnp.asarray(instruction), jnp.asarray(written))


think = eqx.filter_jit(lambda agent, seen, reading: agent.think(seen, reading, mostly_short=False))
choose = eqx.filter_jit(lambda agent, output, key: agent.choose(output, key))


def spoken(variant: str, draws: int = 100) -> list[set[tuple[str, str, str]]]:
    """All that an agent says in each game, under so much noise that it says nearly anything it can."""
    agent = build(variant, sigma=20.0)
    seen, reading = situation(notes=agent.size.notes)
    output = think(agent, seen, reading)
    actions = jax.vmap(lambda key: choose(agent, output, key)[0])(jax.random.split(jax.random.key(1), draws))
    classes = (WORDS.functions, WORDS.adjectives, WORDS.nouns)

    def say(action: np.ndarray) -> tuple[str, str, str]:
        function, adjective, noun = (words[word] for words, word in zip(classes, action, strict=True))
        return function, adjective, noun

    return [set(map(say, game)) for game in np.asarray(actions).swapaxes(0, 1)]


def test_only_words_of_the_notebook_and_none_are_said() -> None:
    for said, (adjectives, nouns) in zip(spoken("afk"), SAYABLE, strict=True):
        functions, *names = map(set, zip(*said, strict=True))
        assert names == [adjectives, nouns] and functions == set(WORDS.functions)


def test_without_a_pointer_any_word_can_be_said() -> None:
    for said in spoken("query", 400):
        _, adjectives, nouns = map(set, zip(*said, strict=True))
        assert len(adjectives) > len(WORDS.adjectives) / 2 and len(nouns) > len(WORDS.nouns) / 2


def test_an_agent_that_cannot_ask_does_not() -> None:
    for said in spoken("no-query"):
        assert {function for function, _, _ in said} == {"take", "open", "slice", "dice", "chop"}


def test_what_is_chosen_is_the_best_of_all_that_may_be_said() -> None:
    agent, key = build(), jax.random.key(3)
    output = think(agent, *situation())
    values = jax.vmap(agent.heads)(output.h_x, jax.random.split(key, len(output.h_x)))
    action, log_probability = agent.choose(output, key)
    best = best_value(values, output.sayable)
    assert not log_probability.any() and action.dtype == jnp.int32
    np.testing.assert_allclose(value_of(values, action), best, rtol=1e-6)
    for game, (function, adjective, noun) in enumerate(zip(*values, strict=True)):
        possible = product(*(np.flatnonzero(words[game]) for words in output.sayable))
        worth = [(function[u] + adjective[v] + noun[w]) / 3 for u, v, w in possible]
        assert max(worth) == pytest.approx(float(best[game]), abs=1e-6)


def test_a_sequence_is_read_like_its_steps() -> None:
    agent = build()
    seen, reading = situation()
    sequence = jax.tree.map(lambda leaf: leaf.reshape(2, 2, *leaf.shape[1:]), (seen, reading))
    go_through = eqx.filter_jit(lambda agent, *inputs: agent(*inputs))
    memory, output = go_through(agent, agent.first_state(2), *sequence, jnp.zeros((2, 2), bool))
    assert memory.shape == (2, 0) and output.value.shape == (2, 2)
    np.testing.assert_allclose(output.h_x.reshape(4, -1), think(agent, seen, reading).h_x, atol=1e-5)


def with_long_ones(longer: int) -> tuple[jax.Array, Reading]:
    """Sixteen situations, so many of them with a text of thirty words, the others of thirteen at most."""
    seen, reading = jax.tree.map(lambda leaf: jnp.tile(leaf, (4, *[1] * (leaf.ndim - 1))), situation())
    seen = seen.at[3 : 3 + longer, :30].set(WORDS.token("fridge"))
    assert sorted((seen != PAD).sum(1).tolist())[-longer - 1 :] == [13, *[30] * longer]
    return seen, reading


CUTS = ((1 / 2, 14), (7 / 8, 16), (1.0, 32))


def test_texts_that_are_read_by_their_length_are_the_same_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    seen, reading = with_long_ones(2)

    def gradient(agent: TextReader, mostly_short: bool) -> Any:
        def worth(agent: TextReader) -> jax.Array:
            return (agent.think(seen, reading, mostly_short).h_x ** 2 * jnp.arange(16)[:, None]).sum()

        return eqx.filter_value_and_grad(worth)(agent)

    whole = eqx.filter_jit(gradient)(build(), mostly_short=False)
    monkeypatch.setattr(transformer, "_CUTS", CUTS)
    apart = eqx.filter_jit(gradient)(build(), mostly_short=True)
    for one, other in zip(*map(jax.tree.leaves, (whole, apart)), strict=True):
        np.testing.assert_allclose(other, one, atol=1e-4)


def test_texts_are_read_by_their_length_if_all_but_an_eighth_are_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits, fits_not = (with_long_ones(longer)[0] for longer in (2, 3))

    def way(*texts: jax.Array) -> bool:
        return bool(transformer.by_length(jnp.bool_, *texts))

    assert not way(fits), "nothing here is longer than what counts as short"
    monkeypatch.setattr(transformer, "_CUTS", CUTS)
    assert way(fits) and way(fits, fits)
    assert not way(fits_not) and not way(fits, fits_not) and not way(fits_not, fits)
    assert not way(fits.at[0, :40].set(WORDS.token("fridge"))), "one is longer than the longest may be"
    assert not way(fits[:1]), "a half of one text is none"
    assert not way(fits[:, :32]), "there is no room for longer ones"


def test_attention_on_a_short_text_is_attention() -> None:
    keys = jax.random.split(jax.random.key(5), 3)
    query, key, value = (jax.random.normal(each, (4, n, 8)) for each, n in zip(keys, (9, 5, 5), strict=True))
    mask = jnp.arange(5) < jnp.array([1, 2, 4, 5])[:, None]
    few, any_number = (
        gather(query, key, value, mask) for gather in (transformer._gather_from_few, transformer._gather)
    )
    np.testing.assert_allclose(few, any_number, atol=1e-5)


def test_padding_changes_nothing() -> None:
    agent = build()
    short = think(agent, *situation())
    seen, reading = situation(tokens=TOKENS + 24)
    padded = Reading(reading.instruction, jnp.pad(reading.notes, ((0, 0), (0, 2), (0, 0))))
    np.testing.assert_allclose(think(agent, seen, padded).h_x, short.h_x, atol=1e-5)


@pytest.mark.parametrize("part", ["seen", "instruction", "notes"])
def test_everything_that_is_read_matters(part: str) -> None:
    agent = build()
    seen, reading = situation()
    value = think(agent, seen, reading).h_x[0]
    other = jnp.asarray(WORDS.encode("black pepper oven", 12), jnp.uint16)
    if part == "seen":
        seen = seen.at[0, :12].set(other)
    elif part == "instruction":
        reading = replace(reading, instruction=reading.instruction.at[0, :12].set(other))
    else:
        reading = replace(reading, notes=reading.notes.at[0, 1].set(other))
    assert jnp.abs(think(agent, seen, reading).h_x[0] - value).max() > 1e-4


def test_the_gradient_reaches_every_parameter() -> None:
    params, static = eqx.partition(build(), eqx.is_inexact_array)
    seen, reading = situation()
    words = jnp.array([[0, 1, 2], [5, 0, 0], [6, 3, 4], [2, 2, 2]])

    def worth(params: TextReader) -> jax.Array:
        agent = eqx.combine(params, static)
        return value_of(
            agent.heads(agent.think(seen, reading, mostly_short=False).h_x, jax.random.key(1)), words
        ).sum()

    gradients = jax.tree_util.tree_leaves_with_path(jax.jit(jax.grad(worth))(params))
    assert len(gradients) > 30
    for path, gradient in gradients:
        assert jnp.abs(gradient).max() > 1e-6, jax.tree_util.keystr(path)


def test_noise_is_another_with_every_key_and_none_without_strength() -> None:
    x, key, other = jax.random.normal(jax.random.key(0), (5, 16)), jax.random.key(1), jax.random.key(2)
    layer = NoisyLinear(16, 9, sigma=0.5, key=key)
    assert jnp.allclose(layer.weight_noise, 0.5 / 4) and jnp.abs(layer.weight).max() <= 1 / 4
    assert (layer(x, key) == layer(x, key)).all()
    assert (layer(x, key) != layer(x, other)).all()
    silent = NoisyLinear(16, 9, sigma=0.0, key=key)
    assert (silent(x, key) == silent(x, None)).all()
    np.testing.assert_allclose(silent(x, None), layer(x, None))


def test_noise_is_factorised_and_means_nothing_in_the_long_run() -> None:
    layer = NoisyLinear(3, 4, sigma=0.5, key=jax.random.key(1))
    bias = jax.vmap(lambda key: layer(jnp.zeros(3), key) - layer.bias)(
        jax.random.split(jax.random.key(2), 4096)
    )
    assert jnp.abs(bias.mean(0)).max() < 4 * 0.29 / 64  # E |e| = 0.8, so that it is 0.29 * 0.9 strong
    weight = jax.vmap(lambda row: layer(row, jax.random.key(3)) - layer(jnp.zeros(3), jax.random.key(3)))(
        jnp.eye(3)
    )
    noise = (weight - layer.weight) / layer.weight_noise
    assert np.linalg.matrix_rank(np.asarray(noise), tol=1e-4) == 1


def test_every_episode_has_noise_of_its_own() -> None:
    agent = build(sigma=2.0)
    output = jax.tree.map(lambda leaf: jnp.repeat(leaf[:1], 64, 0), think(agent, *situation()))
    action, _ = agent.choose(output, jax.random.key(8))
    assert action.shape == (64, 3) and len(np.unique(np.asarray(action), axis=0)) > 8
    assert (agent.choose(output, jax.random.key(8))[0] == action).all()
    silent = build(sigma=0.0)
    assert len(np.unique(np.asarray(silent.choose(output, jax.random.key(8))[0]), axis=0)) == 1


def test_an_agents_noise_is_drawn_anew_with_every_key() -> None:
    agent, silent = build(), build(sigma=0.0)
    output = think(agent, *situation())
    keys = jax.random.split(jax.random.key(4), 2)
    first, second = (agent.heads(output.h_x, key) for key in keys)
    assert all((one != two).any() for one, two in zip(first, second, strict=True))
    quiet = [silent.heads(output.h_x, key) for key in (*keys, None)]
    assert all((one == two).all() for each in quiet for one, two in zip(each, quiet[0], strict=True))


def test_notes_that_are_encoded_once_are_the_same_notes() -> None:
    seen, reading = situation()
    alone = think(build(), seen, reading)
    shared = think(build(size=replace(SIZE, distinct_notes=8)), seen, reading)
    np.testing.assert_allclose(shared.h_x, alone.h_x, atol=1e-6)
    crowded = think(build(size=replace(SIZE, distinct_notes=4)), seen, reading)
    assert jnp.isnan(crowded.value).any()


def test_without_a_notebook_there_is_room_for_the_latest_answer_only() -> None:
    sizes = {variant: build(variant).size for variant in ("afk", "query", "no-query", "afk-no-notebook")}
    assert {variant: size.notes for variant, size in sizes.items()} == {
        "afk": 3,
        "query": 1,
        "no-query": 1,
        "afk-no-notebook": 1,
    }


def test_half_precision_values_are_nearly_the_same() -> None:
    agent = build()
    half = dqn._compute(agent, dqn.Settings(half_precision=True))
    assert half.encoder.embedding.dtype == jnp.bfloat16 and half.heads.noun.weight.dtype == jnp.float32
    seen, reading = situation()
    np.testing.assert_allclose(think(half, seen, reading).value, think(agent, seen, reading).value, atol=0.05)


def test_a_width_that_attention_cannot_split_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of 4, not 10"):
        build(size=replace(SIZE, width=10))


def test_empty_texts_give_numbers() -> None:
    seen, reading = jax.tree.map(lambda leaf: jnp.full_like(leaf, PAD), situation())
    assert jnp.isfinite(think(build(), seen, reading).h_x).all()
