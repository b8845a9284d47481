"""The agent for Q-BabyAI: pointers, memory, sets of notes, and what its decisions amount to."""

from dataclasses import replace
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from afk.agents.agent import Size
from afk.agents.encoders import CELL_FEATURES, NoteEncoder
from afk.agents.grid_agent import (
    ACT,
    ASK,
    Decision,
    GridAgent,
    joint_log_probability,
    sample,
    weighted_entropy,
)
from afk.agents.heads import Pointer
from afk.agents.notebook import NoteTaking, open_notebook, write
from afk.agents.plus_agent import Meeting, PlusAgent
from afk.agents.reading import Reading
from afk.agents.variants import VARIANTS
from afk.envs.base import Pool, draw_pool
from afk.envs.qbabyai.words import RESPONSE_LENGTH, VOCABULARY
from afk.envs.registry import make
from afk.language import NONE
from afk.learn.ppo import Pace, Sequences, Settings, loss
from afk.learn.rollout import Play, collect, open_course, read, start_actors

ENV = make("qbabyai/danger")
RULES = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",))
SIZE = Size(width=16, head=8, view_layers=1, film_blocks=1, notes=4, distinct_notes=0)
ENVIRONMENTS, STEPS = 4, 24
READ = (
    ("find jack toy", "jack toy red ball", "red ball mary suitcase", "mary suitcase blue box"),
    ("avoid danger zone go to the green square", "danger zone blue"),
    ("go to the kitchen",),
    ("open the door", "red key to the door", "red key room1", "blue key room0"),
)


take_note = jax.jit(partial(write, rules=RULES))


def build(name: str = "afk", size: Size = SIZE) -> GridAgent:
    return GridAgent(VARIANTS[name], size, VOCABULARY, ENV.action_sizes[1], key=jax.random.key(3))


def build_plus() -> PlusAgent:
    return PlusAgent(VARIANTS["afk-plus"], SIZE, VOCABULARY, ENV.action_sizes[1], key=jax.random.key(3))


def reading_of(texts: tuple[tuple[str, ...], ...] = READ) -> Reading:
    """The instruction and the notes of each episode, as the agent reads them."""
    rows = [[*notes, *[""] * (SIZE.notes - len(notes))] for _, *notes in texts]
    return Reading(
        jnp.stack([VOCABULARY.encode(instruction, RULES.words) for instruction, *_ in texts]),
        jnp.stack([np.stack([VOCABULARY.encode(note, SIZE.note_words) for note in row]) for row in rows]),
    )


def images(*shape: int) -> jax.Array:
    numbers = jax.random.randint(jax.random.key(5), (*shape, 7, 7, 4), 0, jnp.array(CELL_FEATURES))
    return numbers.astype(jnp.uint8)


@eqx.filter_jit
def run(
    agent: GridAgent, state: jax.Array, image: jax.Array, reading: Reading, starts: jax.Array
) -> tuple[jax.Array, Decision]:
    return agent(state, image, reading, starts)


def glance(agent: GridAgent, reading: Reading) -> tuple[jax.Array, Decision]:
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
    state, decision = glance(agent, reading_of())
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
    _, decision = glance(build_sharp(), reading_of())
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
    expected, decided = glance(build(), reading_of()), glance(shares, reading_of())
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
    state, decision = glance(agent, reading)
    for order in ([1, 2, 0, 3], [3, 2, 1, 0], [3, 0, 2, 1]):
        moved = Reading(reading.instruction, reading.notes[:, jnp.array(order)])
        moved_state, moved_decision = glance(agent, moved)
        np.testing.assert_array_equal(moved_state, state)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), moved_decision, decision)
    bare = glance(agent, Reading(reading.instruction, jnp.zeros_like(reading.notes)))[0]
    assert (bare != state).any((1, 2)).tolist() == [len(sentences) > 1 for sentences in READ]


def test_only_the_heads_that_are_used_count() -> None:
    _, decision = glance(build_sharp(), reading_of())
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
    _, decision = glance(build_sharp(), reading_of())
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


@lru_cache
def pool() -> Pool:
    return draw_pool(ENV, jax.random.key(14), 32)


@pytest.mark.parametrize("name", VARIANTS)
def test_every_variant_plays_and_learns_with_all_of_its_parameters(name: str) -> None:
    variant = VARIANTS[name]
    agent = build_plus() if variant.plus else build(name)
    play = Play(ENV, variant, RULES)
    course = open_course(play, pool())
    actors = start_actors(agent, course, ENVIRONMENTS)
    _, experience, _ = eqx.filter_jit(collect)(play, agent, course, actors, jax.random.key(15), steps=STEPS)
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
    pace = Pace(*map(jnp.float32, (0.1, 1e-4, 0.01, 0.01)))
    losses = jax.jit(lambda each: loss(eqx.combine(each, static), sequences, Settings(), pace))
    gradient, _ = jax.grad(losses, has_aux=True)(params)
    for path, leaf in jax.tree_util.tree_leaves_with_path(gradient):
        assert np.isfinite(leaf).all() and (leaf != 0).any(), jax.tree_util.keystr(path)


def test_all_that_the_improved_agent_may_do_has_probability_one() -> None:
    agent, reading = build_plus(), reading_of()
    count = len(reading.instruction)
    inputs = jax.tree.map(lambda leaf: leaf[None], (images(count), reading, jnp.zeros(count, bool)))
    _, thoughts = agent(agent.first_state(count), *inputs)
    acts = np.array([[ACT, action, 0, 0, 0] for action in range(ENV.action_sizes[1])])
    sizes = ENV.action_sizes[2:]
    asks = np.array([[ASK, 0, *words] for words in np.ndindex(*sizes)])
    chances = []
    for action in (acts, asks):
        each = jnp.broadcast_to(jnp.asarray(action)[:, None, None], (len(action), 1, count, 5))
        judge = jax.jit(jax.vmap(lambda one: agent.judge(thoughts, one, pays_for_asking=False)))
        chances.append(np.exp(judge(each).log_probability).sum(0))
    np.testing.assert_allclose(chances[0] + chances[1], 1, rtol=1e-4)
    assert (chances[1] > 0.1).all()


def test_what_is_in_a_cell_finds_the_note_that_names_it() -> None:
    width = 64
    table = jax.random.normal(jax.random.key(17), (8, width)) * 0.5
    red, blue, ball, key = table[:4]
    words = jnp.stack([red + ball + table[4], blue + ball + table[5], table[6]])[None]
    notes = jax.random.normal(jax.random.key(18), (1, 3, width))
    cells = jnp.stack([red + ball, blue + ball, blue + key, 0 * red])[None, None]
    meeting = Meeting(width, key=jax.random.key(19))
    found = np.asarray(meeting(cells, words, notes, jnp.ones((1, 3), bool)))[0, 0]
    values = np.asarray(meeting.value(notes))[0]
    nearest = np.argmin(((found[:3, None] - values) ** 2).sum(-1), -1)
    assert nearest.tolist() == [0, 1, 1]
    without = meeting(cells, words, notes, jnp.array([[False, True, True]]))[0, 0, 0]
    assert ((found[0] - without) ** 2).sum() > 0.1


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


@pytest.mark.parametrize("option", ["width", "head", "notes", "note_words", "instruction_words"])
def test_impossible_sizes_are_refused(option: str) -> None:
    with pytest.raises(ValueError, match=f"{option} is at least 1, not 0"):
        replace(Size(), **{option: 0})
