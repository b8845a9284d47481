from dataclasses import replace
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from afk.agents.notebook import UNUSED, Notebook, NoteTaking, Similarity, in_focus, open_notebook, write
from afk.envs.level_pool import Pool, draw_pool
from afk.envs.qbabyai.world.state import State
from afk.envs.qbabyai.world.words import MISSION_LENGTH, RESPONSE_LENGTH, SILENCE, UNKNOWN, VOCABULARY
from afk.envs.registry import make
from afk.knowledge.facts import NEVER, ask, available
from afk.language import Vocabulary

from .notebook_reference import Note, ReferenceNotebook, clean

QBABYAI = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",))
TINY = NoteTaking(
    Vocabulary(
        nouns=("a", "b", "c"),
        adjectives=("none", "d"),
        functions=("what",),
        verbs=(),
        others=("i", "dont", "know", "in"),
        glue=(",", "is"),
    ),
    dropped=("is", "in"),
    unknown=("i dont know",),
    capacity=8,
    words=8,
)
SIMILARITIES = [
    Similarity(1),
    Similarity(2),
    Similarity(1, 1 / 3),
    Similarity(1, 0.6),
    Similarity(2, 0.5),
    Similarity(2, 1.0),
]
STREAM = 16  # responses in a stream

tiny_sentences = (
    st.lists(st.sampled_from(["a", "b", "c", "d", "is", "in", ",", "i dont know"]), max_size=8)
    .map(lambda words: " ".join(words).replace(" ,", ","))
    .filter(lambda text: len(text.replace(",", " ,").split()) <= TINY.words)
)


@eqx.filter_jit
def write_all(
    instruction: jax.Array, responses: jax.Array, rules: NoteTaking
) -> tuple[Notebook, Notebook, jax.Array]:
    """The open notebook, and after each response the notebook and whether it grew."""

    def step(notebook: Notebook, response: jax.Array) -> tuple[Notebook, tuple[Notebook, jax.Array]]:
        notebook, grew = write(notebook, response, rules=rules)
        return notebook, (notebook, grew)

    opened = open_notebook(instruction, rules=rules)
    return opened, *jax.lax.scan(step, opened, responses)[1]


def encode(rules: NoteTaking, text: str, length: int | None = None) -> jax.Array:
    return jnp.asarray(rules.vocabulary.encode(text, length or rules.words))


def sets_of(rules: NoteTaking, notebook: Notebook) -> dict[int, set[Note]]:
    """The sets by index, in words; no note may be in the notebook twice."""
    sets: dict[int, set[Note]] = {}
    for note, group in zip(np.asarray(notebook.notes), np.asarray(notebook.group), strict=True):
        if group != UNUSED:
            words = tuple(rules.vocabulary.decode(note).split())
            assert not any(words in notes for notes in sets.values())
            sets.setdefault(int(group), set()).add(words)
    return sets


def write_texts(
    rules: NoteTaking, instruction: str, responses: list[str]
) -> tuple[Notebook, Notebook, np.ndarray]:
    """`write_all` for sentences, in streams of one length so that it is compiled once for given rules."""
    length = min(rules.words, RESPONSE_LENGTH)
    padded = responses + [""] * (STREAM - len(responses))
    tokens = jnp.stack([encode(rules, response, length) for response in padded])
    return jax.device_get(write_all(encode(rules, instruction), tokens, rules))


def outcome(rules: NoteTaking, instruction: str, *responses: str) -> tuple[dict[int, set[Note]], list[bool]]:
    """The sets at the end, and whether each response made A_0 grow."""
    _, notebooks, grew = write_texts(rules, instruction, list(responses))
    return sets_of(rules, jax.tree.map(lambda leaf: leaf[-1], notebooks)), grew[: len(responses)].tolist()


def check_against_reference(rules: NoteTaking, instruction: str, responses: list[str]) -> None:
    """The same sets under the same indices, and the same growth, after every response."""
    opened, notebooks, grew = write_texts(rules, instruction, responses)
    reference = ReferenceNotebook(
        instruction, rules.similarity.n, rules.similarity.alpha, rules.capacity, rules.clauses
    )
    assert sets_of(rules, opened) == reference.sets
    for index, response in enumerate(responses):
        assert bool(grew[index]) == reference.write(response)
        notebook = jax.tree.map(lambda leaf, index=index: leaf[index], notebooks)
        assert sets_of(rules, notebook) == reference.sets


@pytest.fixture(scope="module")
def levels() -> Pool[State]:
    return draw_pool(make("qbabyai/object-in-box"), jax.random.key(0), 256)


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=str)
@settings(max_examples=100, deadline=None)
@given(instruction=tiny_sentences.filter(clean), responses=st.lists(tiny_sentences, max_size=STREAM))
def test_random_streams_agree_with_the_paper(similarity, instruction, responses):
    check_against_reference(replace(TINY, similarity=similarity), instruction, responses)


@pytest.mark.parametrize("clauses", [1, 3])
@settings(max_examples=30, deadline=None)
@given(instruction=tiny_sentences.filter(clean), responses=st.lists(tiny_sentences, max_size=STREAM))
def test_other_numbers_of_clauses_agree_with_the_paper(clauses, instruction, responses):
    check_against_reference(replace(TINY, clauses=clauses), instruction, responses)


@pytest.mark.parametrize("n", [1, 2])
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_streams_of_qbabyai_answers_agree_with_the_paper(levels, n, data):
    states = levels.states
    level = data.draw(st.integers(0, levels.size - 1))
    known = np.asarray(states.facts.answers[level])[np.asarray(states.facts.scope[level]) != NEVER]
    answers = ["", "i dont know", *(VOCABULARY.decode(answer) for answer in known)]
    responses = data.draw(st.lists(st.sampled_from(answers), max_size=STREAM))
    instruction = VOCABULARY.decode(np.asarray(states.level.mission[level]))
    check_against_reference(replace(QBABYAI, similarity=Similarity(n)), instruction, responses)


def test_good_answers_join_the_focus_and_noise_never_does(levels):
    states = levels.states

    @jax.jit
    @jax.vmap
    def ask_all(state: State) -> jax.Array:
        def answer(query: jax.Array) -> jax.Array:
            return ask(available(state.facts, jnp.bool_(True)), query, unknown=jnp.asarray(UNKNOWN)).tokens

        return jax.vmap(answer)(state.level.good_queries)

    responses = ask_all(states)
    _, notebooks, grew = jax.vmap(partial(write_all, rules=QBABYAI))(states.level.mission, responses)
    asked = (responses != UNKNOWN).any(-1)
    assert asked.sum(-1).tolist() == [3] * levels.size
    np.testing.assert_array_equal(grew, asked)

    notes, group = np.asarray(notebooks.notes[:, -1]), np.asarray(notebooks.group[:, -1])
    noise = np.isin(notes[:, :, 0], [VOCABULARY.token("different"), VOCABULARY.token("while")])
    assert noise.any()
    np.testing.assert_array_equal((group == 0), (group != UNUSED) & ~noise)


def test_clauses_are_notes_and_glue_is_dropped():
    instruction = "avoid danger zone, find mary suitcase"
    sets, grew = outcome(QBABYAI, instruction, "different from tim, mary suitcase is blue box")
    assert sets == {
        0: {clean("avoid danger zone find mary suitcase"), clean("mary suitcase blue box")},
        1: {clean("different from tim")},
    }
    assert grew == [True]


def test_growth_is_by_a_clause_of_this_response():
    cases = {
        ("c c", "a b d"): [False, True],
        ("c c, a b d", "c c, a b d"): [True, False],
        ("c d, d a b",): [True],
        ("c d", "d d", "c d d"): [False, False, False],  # sets merge, but A_0 is not among them
        ("c d", "a b c d", "c d, c c"): [False, True, False],
    }
    for responses, expected in cases.items():
        assert outcome(TINY, "a b", *responses)[1] == expected


def test_related_sets_merge_into_the_lowest():
    responses = ["c c", "d d", "b c", "d d b c", "c d"]
    sets, _ = outcome(TINY, "a b", *responses)
    assert sets == {
        0: {clean("a b")},
        1: {clean("c c")},
        2: {clean("d d"), clean("b c"), clean("d d b c")},
        3: {clean("c d")},  # index 3 is free again since `b c` left it
    }
    sets, _ = outcome(TINY, "a b", *responses, "c c d", "d d a b")
    assert {index: len(notes) for index, notes in sets.items()} == {0: 5, 1: 3}


def test_what_says_nothing_is_not_written():
    for unwritten in ("", "i dont know", "a i dont know", "is in", ","):
        sets, grew = outcome(TINY, "i dont know a", unwritten)
        assert (sets, grew) == ({0: {("i", "dont", "know", "a")}}, [False])
    responses = jnp.asarray(np.stack([SILENCE, UNKNOWN]))
    _, notebooks, grew = write_all(encode(QBABYAI, "find jack toy"), responses, QBABYAI)
    assert (notebooks.group == 0).sum() == 2
    assert (notebooks.group == UNUSED).sum() == 2 * (QBABYAI.capacity - 1)
    assert not grew.any()


def test_duplicates_add_nothing():
    sets, grew = outcome(TINY, "a b", "b a b", "b is a b", "a, in b", "c d, c d", "c in d", "a", "a b")
    assert sets == {0: {("a", "b"), ("b", "a", "b")}, 1: {("a",)}, 2: {("b",)}, 3: {("c", "d")}}
    assert grew == [True] + 6 * [False]


def test_a_note_of_one_word_has_no_bi_grams():
    assert set(outcome(TINY, "a b", "a", "b")[0]) == {0, 1, 2}
    uni_grams = replace(TINY, similarity=Similarity(1))
    assert set(outcome(uni_grams, "a b", "a", "b")[0]) == {0}


def test_a_full_notebook_stays_as_it_is():
    small = replace(TINY, capacity=3)
    sets, grew = outcome(small, "a b", "c d", "d a", "b c", "a b c d")
    assert sets == {0: {("a", "b")}, 1: {("c", "d")}, 2: {("d", "a")}}
    assert not any(grew)
    sets, grew = outcome(small, "a b", "c d", "a b d, a b c")  # room for the first clause only
    assert sets == {0: {("a", "b"), ("a", "b", "d")}, 1: {("c", "d")}}
    assert grew == [False, True]


def test_two_bytes_a_token_give_the_same_notebook():
    instruction, responses = encode(TINY, "a b c"), encode(TINY, "d, b c a")[None]
    one_byte = write_all(instruction, responses, TINY)
    two_bytes = write_all(instruction.astype(jnp.uint16), responses.astype(jnp.uint16), TINY)
    assert two_bytes[1].notes.dtype == jnp.uint16
    assert all(jax.tree.leaves(jax.tree.map(jnp.array_equal, one_byte, two_bytes)))


def test_vmapped_jitted_and_eager_agree(levels):
    missions = levels.states.level.mission[:4]
    responses = levels.states.facts.answers[:4, :STREAM]
    together = jax.vmap(partial(write_all, rules=QBABYAI))(missions, responses)
    for index in range(4):
        alone = write_all(missions[index], responses[index], QBABYAI)
        assert eqx.tree_equal(alone, jax.tree.map(lambda leaf, index=index: leaf[index], together))

    notebook = open_notebook(missions[0], rules=QBABYAI)
    for index in range(4):
        notebook, grew = write(notebook, responses[0, index], rules=QBABYAI)
        expected = jax.tree.map(lambda leaf, index=index: leaf[0, index], together[1:])
        assert eqx.tree_equal((notebook, grew), expected)


def test_focus_is_the_set_of_the_instruction():
    opened, notebooks, _ = write_texts(TINY, "a b", ["c d", "b d", "a b c"])
    assert in_focus(opened).tolist() == [True, *[False] * 7]
    assert in_focus(notebooks)[-1].tolist() == [True, False, False, True, *[False] * 4]


def test_lengths_and_types_are_checked():
    assert QBABYAI.words >= MISSION_LENGTH
    instruction = encode(TINY, "a b")
    with pytest.raises(ValueError, match="9 tokens do not fit in notes of 8 words"):
        write_all(instruction, jnp.zeros((1, 9), jnp.uint8), TINY)
    with pytest.raises(ValueError, match="uint8, the response's uint16"):
        write_all(instruction, jnp.zeros((1, 8), jnp.uint16), TINY)
    with pytest.raises(ValueError, match="uint8 or uint16, not int32"):
        open_notebook(jnp.zeros(8, jnp.int32), rules=TINY)


@pytest.mark.parametrize("options", [{"n": 0}, {"n": 3}, {"alpha": 0.0}, {"alpha": 1.1}])
def test_similarity_is_checked(options):
    with pytest.raises(
        ValueError, match="|".join(f"{name}.*not .*{value}" for name, value in options.items())
    ):
        Similarity(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"capacity": 0}, "capacity is from 1 to 127, not 0"),
        ({"capacity": 128}, "capacity is from 1 to 127, not 128"),
        ({"words": 256}, "words is from 1 to 255, not 256"),
        ({"clauses": 9}, "clauses is from 1 to 8, not 9"),
        ({"dropped": ("was",)}, "unknown word 'was'"),
        ({"breaks": (";",)}, "unknown word ';'"),
        ({"unknown": ("",)}, "an empty sentence"),
    ],
)
def test_note_taking_is_checked(options, message):
    with pytest.raises(ValueError, match=message):
        replace(TINY, **options)
