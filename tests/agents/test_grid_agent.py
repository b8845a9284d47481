"""The agent for Q-BabyAI: pointers, memory, sets of notes, and what its decisions amount to."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.base import Size
from afk.agents.grid_agent import (
    ACT,
    ASK,
    Decision,
    GridAgent,
    joint_log_probability,
    sample,
    weighted_entropy,
)
from afk.agents.networks.encoders import NoteEncoder
from afk.agents.networks.heads import Pointer
from afk.agents.reading import Reading
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.language import NONE

from .small_agents import READ, RULES, SIZE, build, images, reading_of


@eqx.filter_jit
def run(
    agent: GridAgent, state: jax.Array, image: jax.Array, reading: Reading, starts: jax.Array
) -> tuple[jax.Array, Decision]:
    return agent(state, image, reading, starts)


def decide_once(agent: GridAgent, reading: Reading) -> tuple[jax.Array, Decision]:
    """One step with some state of the LSTM: its state after it, and decisions with leading axis n."""
    count = len(reading.instruction)
    state = 0.5 * jax.random.normal(jax.random.key(6), (count, 2, agent.size.width))
    inputs = jax.tree.map(lambda leaf: leaf[None], (images(count), reading, jnp.zeros(count, bool)))
    state, decision = run(agent, state, *inputs)
    return state, jax.tree.map(lambda leaf: leaf[0], decision)


def build_sharp() -> GridAgent:
    """An agent to which words differ in probability."""
    return eqx.tree_at(
        lambda each: (each.adjective.query, each.noun.query), build(), replace_fn=lambda w: 20 * w
    )


def point(pointer: Pointer, h_x: np.ndarray, words: list[tuple[str, np.ndarray]]) -> dict[str, float]:
    """Section 3.2 in plain numpy, on words of one class with their encodings; q k^T over the root of l."""
    keys = [(word, encoding @ np.asarray(pointer.key)) for word, encoding in words]
    if pointer.none is not None:
        keys.append((NONE, np.asarray(pointer.none)))
    q = h_x @ np.asarray(pointer.query)
    weights = np.exp([float(q @ k) / len(q) ** 0.5 for _, k in keys])
    distribution: dict[str, float] = {}
    for (word, _), weight in zip(keys, weights / weights.sum(), strict=True):
        distribution[word] = distribution.get(word, 0.0) + weight
    return distribution


def encodings(agent: GridAgent, sentences: tuple[str, ...]) -> list[tuple[str, np.ndarray]]:
    """Every word that is read, with its encoding."""
    tokens = jnp.stack([VOCABULARY.encode(text, RULES.words) for text in sentences])
    rows = zip(sentences, np.asarray(agent.note(tokens)[0]), strict=True)
    return [pair for text, row in rows for pair in zip(text.split(), row, strict=False)]


def test_pointers_are_as_in_the_paper() -> None:
    agent = build_sharp()
    state, decision = decide_once(agent, reading_of())
    repeated = 0
    for index, sentences in enumerate(READ):
        words = encodings(agent, sentences)
        for head, allowed in (("adjective", VOCABULARY.adjectives), ("noun", VOCABULARY.nouns)):
            read_words = [pair for pair in words if pair[0] in allowed]
            expected = point(getattr(agent, head), np.asarray(state[index, 0]), read_words)
            logits = np.asarray(getattr(decision, head)[index])
            assert {allowed[word] for word in np.flatnonzero(logits > -np.inf)} == set(expected)
            assert np.exp(logits).sum() == pytest.approx(1, abs=1e-5)
            probabilities = [expected.get(word, 0) for word in allowed]
            np.testing.assert_allclose(np.exp(logits), probabilities, atol=1e-5)
            repeated += len(read_words) > len({word for word, _ in read_words})
    assert repeated >= 4
    assert decision.adjective is not None and VOCABULARY.adjectives[0] == NONE
    assert decision.adjective[2, 0] == 0, "only `none` can be said there"


def test_only_words_that_are_read_are_said() -> None:
    _, decision = decide_once(build_sharp(), reading_of())
    keys = jax.random.split(jax.random.key(7), 500)
    actions = np.asarray(jax.vmap(lambda key: sample(decision, key))(keys))
    for index, sentences in enumerate(READ):
        words = {NONE, *" ".join(sentences).split()}
        for component, said in ((3, VOCABULARY.adjectives), (4, VOCABULARY.nouns)):
            assert {said[each] for each in actions[:, index, component]} <= words
    assert set(actions[..., 0].flat) == {ACT, ASK}


def test_sequences_are_as_step_by_step_with_a_fresh_state_where_episodes_start() -> None:
    agent, count, steps = build(), len(READ), 12
    starts = np.array(jax.random.bernoulli(jax.random.key(8), 0.25, (steps, count)))
    starts[0] = [True, False, False, False]
    assert starts[1:].any(0).all() and not starts.all(0).any()
    image, reading = images(steps, count), reading_of()
    order = jax.random.randint(jax.random.key(9), (steps, count), 0, count)
    readings = jax.tree.map(lambda leaf: leaf[order], reading)
    first = state = jax.random.normal(jax.random.key(10), (count, 2, SIZE.width))
    last, together = run(agent, first, image, readings, jnp.asarray(starts))
    for step in range(steps):
        state = jnp.where(starts[step][:, None, None], 0, state)
        seen, words = jax.tree.map(lambda leaf, step=step: leaf[step][None], (image, readings))
        state, alone = run(agent, state, seen, words, jnp.zeros((1, count), bool))
        for one, all_ in zip(jax.tree.leaves(alone), jax.tree.leaves(together), strict=True):
            np.testing.assert_allclose(one[0], all_[step], atol=1e-5)
    np.testing.assert_allclose(state, last, atol=1e-5)
    changed, other = run(agent, first + 1, image, readings, jnp.asarray(starts))
    np.testing.assert_allclose(changed, last, atol=1e-5)
    np.testing.assert_array_equal(other.value != together.value, np.cumsum(starts, 0) == 0)


def some_notes() -> jax.Array:
    texts = ["", *(note for _, *notes in READ for note in notes)]
    rows = np.stack([VOCABULARY.encode(text, SIZE.note_words) for text in texts])
    return jnp.asarray(rows)[jax.random.randint(jax.random.key(11), (60,), 0, len(texts))]


def test_notes_that_are_encoded_once_are_encoded_the_same() -> None:
    encoder, notes = NoteEncoder(len(VOCABULARY.tokens), 16, key=jax.random.key(12)), some_notes()
    distinct = len(np.unique(notes, axis=0))
    assert distinct == 8
    plain, most, share = encoder(notes), len(notes), eqx.filter_jit(encoder.shared)
    for allowed in (distinct, distinct + 1, most):
        # Products of matrices of another size are rounded otherwise.
        tolerance = 0.0 if allowed == most else 2e-7
        for shared, expected in zip(share(notes, allowed), plain, strict=True):
            np.testing.assert_allclose(shared, expected, rtol=0, atol=tolerance)
    words, whole = share(notes, distinct - 1)
    lost = np.isnan(whole).any(-1)
    assert len(np.unique(notes[lost], axis=0)) == 1
    assert np.isnan(words[lost]).all() and np.isnan(whole[lost]).all()
    np.testing.assert_allclose(words[~lost], plain[0][~lost], atol=2e-7)


def test_an_agent_that_encodes_notes_once_decides_the_same() -> None:
    shares = build(size=replace(SIZE, distinct_notes=32))
    expected, decided = decide_once(build(), reading_of()), decide_once(shares, reading_of())
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-6), decided, expected)


def test_padding_after_a_note_changes_nothing() -> None:
    encoder, notes = NoteEncoder(len(VOCABULARY.tokens), 16, key=jax.random.key(12)), some_notes()
    words, whole = encoder(notes)
    longer_words, longer_whole = encoder(jnp.pad(notes, ((0, 0), (0, 7))))
    np.testing.assert_array_equal(longer_whole, whole)
    np.testing.assert_array_equal(longer_words[:, : SIZE.note_words], words)
    length = np.maximum((np.asarray(notes) != 0).sum(-1), 1)
    np.testing.assert_array_equal(np.asarray(words)[np.arange(60), length - 1], whole)


def test_the_order_of_notes_changes_nothing() -> None:
    agent, reading = build_sharp(), reading_of()
    state, decision = decide_once(agent, reading)
    for order in ([1, 2, 0, 3], [3, 2, 1, 0], [3, 0, 2, 1]):
        moved = Reading(reading.instruction, reading.notes[:, jnp.array(order)])
        moved_state, moved_decision = decide_once(agent, moved)
        np.testing.assert_array_equal(moved_state, state)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), moved_decision, decision)
    bare = decide_once(agent, Reading(reading.instruction, jnp.zeros_like(reading.notes)))[0]
    assert (bare != state).any((1, 2)).tolist() == [len(sentences) > 1 for sentences in READ]


def test_only_the_heads_that_are_used_count() -> None:
    _, decision = decide_once(build_sharp(), reading_of())
    assert decision.function is not None and decision.adjective is not None and decision.noun is not None
    unsaid = [int(np.argmin(row)) for row in decision.noun]
    assert all(decision.noun[index, noun] == -jnp.inf for index, noun in enumerate(unsaid))
    act = jnp.array([[ACT, 3, 1, 5, noun] for noun in unsaid])
    expected = decision.switch[:, ACT] + decision.physical[:, 3]
    np.testing.assert_allclose(joint_log_probability(decision, act), expected, rtol=1e-6)
    said = [int(np.argmax(row)) for row in decision.noun]
    query = jnp.array([[ASK, 6, 1, 0, noun] for noun in said])
    expected = decision.switch[:, ASK] + decision.function[:, 1] + decision.adjective[:, 0]
    expected += jnp.array([decision.noun[index, noun] for index, noun in enumerate(said)])
    np.testing.assert_allclose(joint_log_probability(decision, query), expected, rtol=1e-6)
    unsayable = jnp.array([[ASK, 0, 0, 0, noun] for noun in unsaid])
    assert (joint_log_probability(decision, unsayable) == -jnp.inf).all()


@pytest.mark.parametrize("pays", [False, True])
def test_entropy_of_the_heads_moves_the_switch_only_if_it_pays_for_asking(pays: bool) -> None:
    _, decision = decide_once(build_sharp(), reading_of())
    logits = jax.random.normal(jax.random.key(13), decision.switch.shape)

    def entropies(logits: jax.Array) -> tuple[jax.Array, jax.Array]:
        return weighted_entropy(decision._replace(switch=jax.nn.log_softmax(logits)), pays_for_asking=pays)

    def plain(log_probabilities: jax.Array | None) -> np.ndarray:
        p = np.exp(np.asarray(log_probabilities, np.float64))
        return -(p * np.log(np.where(p > 0, p, 1))).sum(-1)

    chances = np.asarray(jax.nn.softmax(logits))
    asking = sum(plain(head) for head in (decision.function, decision.adjective, decision.noun))
    switch, heads = entropies(logits)
    expected = chances[:, ACT] * plain(decision.physical) + chances[:, ASK] * asking
    np.testing.assert_allclose(heads, expected, rtol=1e-4)
    np.testing.assert_allclose(switch, plain(jax.nn.log_softmax(logits)), rtol=1e-4)
    by_heads = jax.grad(lambda each: entropies(each)[1].sum())(logits)
    assert (by_heads != 0).all() if pays else (by_heads == 0).all()
    assert (jax.grad(lambda each: entropies(each)[0].sum())(logits) != 0).all()


@pytest.mark.parametrize("option", ["width", "head", "notes", "note_words", "instruction_words"])
def test_impossible_sizes_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is at least 1, not 0"):
        replace(Size(), **{option: 0})
