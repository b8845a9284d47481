"""What sources are like: their price, their budget, and how far they can be believed; drawn with the level.

A run that says nothing of sources has the paper's one oracle, and nothing here is part of its programs.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from afk.checks import check_counts, check_types, is_number
from afk.knowledge.reply import NOTHING, Reply
from afk.knowledge.source import REFUSED

# From an answer, (words,) tokens, and () uint32 of 16 bits to another of its kind; and whether there is one.
Falsify = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]
RANGES = ("price", "silence", "lies")
_PRICE = RANGES.index("price")
_NO_LIMIT = 2**30  # questions; no episode has as many steps
_BITS = np.float32(2**24)  # of a draw; probabilities are compared with numbers below
_SPREAD = np.uint32(0x9E3779B1)  # an odd number whose multiples look like chance
_STEEPEST = 10.0  # power that prices are spread by
MISLED, ACTED_ON = 1, 2  # of a wanted fact: see `Dealings.beliefs`


@dataclass(frozen=True)
class SourceSpec:
    """What the traits of a source are drawn from in each level; by default it is the paper's oracle.

    Attributes:
        price: from and to, what a question costs, in units of r_env; a refusal costs nothing but its step.
        silence: from and to, how likely it refuses to answer.
        lies: from and to, how likely an answer is a plausible false one of the same kind.
        budget: how many questions it answers in an episode; 0 if as many as are asked.
        is_persistent: whether asking the same again gives the same, lies and refusals alike; it is drawn
            anew otherwise.
        is_stale: whether it tells what was true at the start.
        shows_price: whether the agent sees the price before it asks; it sees what it has paid in any case.
        price_power: prices are spread as this power of what is uniform: above 1 low ones are more frequent,
            among which it is hard to tell whether an answer is worth them.
        lies_power: likewise for how likely lies are: with 3 most sources are honest, and a few lie nearly
            always, so that one false answer tells much about whose it was.
    """

    price: tuple[float, float] = (0.0, 0.0)
    silence: tuple[float, float] = (0.0, 0.0)
    lies: tuple[float, float] = (0.0, 0.0)
    budget: int = 0
    is_persistent: bool = True
    is_stale: bool = False
    shows_price: bool = True
    price_power: float = 1.0
    lies_power: float = 1.0

    def __post_init__(self) -> None:
        check_types(self)
        for name in RANGES:
            pair = getattr(self, name)
            pair = [pair, pair] if is_number(pair) else pair
            ordered = isinstance(pair, list | tuple) and len(pair) == 2 and all(map(is_number, pair))
            if not ordered or not 0 <= pair[0] <= pair[1] <= 1:
                raise ValueError(f"{name} of a source is from 0 to 1, a number or two in order, not {pair!r}")
            object.__setattr__(self, name, (float(pair[0]), float(pair[1])))
        check_counts(self, "budget", least=0)
        for name in ("price_power", "lies_power"):
            if not 0 < (power := getattr(self, name)) <= _STEEPEST:
                raise ValueError(f"{name} of a source is above 0, up to {_STEEPEST}, not {power}")

    def to_json(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self) | {name: list(getattr(self, name)) for name in RANGES}


def read_specs(content: Any) -> tuple[SourceSpec, ...]:
    """The sources of a run, out of JSON or as they are; a ValueError if they are none."""
    if not isinstance(content, list | tuple):
        raise ValueError(f"sources are a list, not {content!r}")
    known = [each.name for each in fields(SourceSpec)]
    for each in content:
        if isinstance(each, SourceSpec):
            continue
        if not isinstance(each, Mapping) or not set(each) <= set(known):
            raise ValueError(f"a source says {', '.join(known)}, not {each!r}")
    return tuple(each if isinstance(each, SourceSpec) else SourceSpec(**each) for each in content)


class Traits(eqx.Module):
    """What one source is like at a question.

    Attributes:
        silence: () float32, a probability.
        lies: () float32, likewise.
        is_spent: () bool, whether its budget is.
    """

    silence: jax.Array
    lies: jax.Array
    is_spent: jax.Array


class Dealings(eqx.Module):
    """What has gone on between the agent and its sources in an episode.

    Attributes:
        character: (sources, 3) float32, price, silence and lies of each, as they were drawn.
        key: (2,) uint32, what is random in answers is drawn from it.
        answered: (sources,) int32, the questions that each has answered, and was paid for.
        refusals: () int32, questions that were refused.
        lies: () int32, false answers that were heard.
        first_question: () int32, the step of the first question, from 1 on; 0 if there was none.
        beliefs: int8 for each wanted fact, `MISLED` where a false answer was heard, and `ACTED_ON` where the
            agent acted on one: it went on to act without having heard the truth.
        first_facts: what was true at the start; None if no source is stale.
        rumours: what false answers are made of, if the world keeps that.
    """

    character: jax.Array
    key: jax.Array
    answered: jax.Array
    refusals: jax.Array
    lies: jax.Array
    first_question: jax.Array
    beliefs: jax.Array
    first_facts: Any = None
    rumours: Any = None

    @property
    def paid(self) -> jax.Array:
        """What each source was paid: (sources,) float32."""
        return self.answered * self.character[:, _PRICE]


class DealingStats(eqx.Module):
    """What an episode's questions amount to so far, beside `EpisodeStats`; () each.

    Attributes:
        paid: float32, for all questions.
        refusals: int32.
        lies: int32, false answers that were heard.
        acted_on: int32, false answers acted upon, at most one for a wanted fact.
        first_question: int32, its step; 0 if nothing was asked.
    """

    paid: jax.Array
    refusals: jax.Array
    lies: jax.Array
    acted_on: jax.Array
    first_question: jax.Array


def draw_dealings(
    specs: Sequence[SourceSpec],
    key: jax.Array,
    *,
    wanted: int | tuple[int, ...],
    facts: Any,
    rumours: Any = None,
) -> Dealings:
    """Draw what the sources of a level are like.

    Args:
        specs: what their traits are drawn from.
        key: to draw with.
        wanted: how many wanted facts a level has at most, or in what shape they come.
        facts: what is true at the start.
        rumours: what false answers are made of.
    """
    answers_key, character_key = jax.random.split(key)
    low, high = np.array([[getattr(spec, name) for name in RANGES] for spec in specs], np.float32).transpose(
        2, 0, 1
    )
    powers = np.ones_like(low)
    for name in ("price", "lies"):
        powers[:, RANGES.index(name)] = [getattr(spec, f"{name}_power") for spec in specs]
    zero = jnp.int32(0)
    return Dealings(
        character=low + (high - low) * jax.random.uniform(character_key, low.shape) ** powers,
        key=jax.random.key_data(answers_key),
        answered=jnp.zeros(len(specs), jnp.int32),
        refusals=zero,
        lies=zero,
        first_question=zero,
        beliefs=jnp.zeros(wanted, jnp.int8),
        first_facts=facts if any(spec.is_stale for spec in specs) else None,
        rumours=rumours,
    )


def traits_of(specs: Sequence[SourceSpec], dealings: Dealings, source: jax.Array) -> Traits:
    """What the source of a () number is like now."""
    budgets = np.array([spec.budget or _NO_LIMIT for spec in specs], np.int32)
    _, silence, lies = pick(dealings.character, source)
    return Traits(silence, lies, pick(dealings.answered >= budgets, source))


def pick(values: jax.Array | np.ndarray, source: jax.Array) -> jax.Array:
    """The row of the source of a () number; by a mask, since to gather it takes longer."""
    values = jnp.asarray(values)
    if len(values) == 1:
        return values[0]
    is_source = (jnp.arange(len(values)) == source).reshape(-1, *[1] * (values.ndim - 1))
    return jnp.where(is_source, values, 0).sum(0, dtype=values.dtype)


def answer_key(
    specs: Sequence[SourceSpec], dealings: Dealings, source: jax.Array, query: jax.Array, queries: jax.Array
) -> jax.Array:
    """The key that an answer is drawn with: the same where asking again is to give the same.

    Args:
        specs: of the sources.
        dealings: of the episode.
        source: () int32.
        query: (3,) int.
        queries: () int32, how many were asked before.
    """
    code = ((query[0] * 256 + query[1]) * 256 + query[2]) * 16 + source
    is_persistent = pick(np.array([spec.is_persistent for spec in specs]), source)
    return jax.random.fold_in(
        jax.random.wrap_key_data(dealings.key), jnp.where(is_persistent, code, -1 - queries)
    )


def temper(reply: Reply, traits: Traits, key: jax.Array, *, falsify: Falsify, refusal: jax.Array) -> Reply:
    """What a source says that knows a reply.

    Args:
        reply: the truth, as the source knows it.
        traits: what the source is like.
        key: of this answer alone: 32 of its own bits are what is drawn, since each hash more takes as long
            as the answer itself.
        falsify: what makes a plausible false answer of it.
        refusal: what it says to refuse.
    """
    bits = jax.random.key_data(key)[0]
    drawn = (bits >> 8).astype(jnp.float32) / _BITS
    refuses = (drawn < traits.silence) | traits.is_spent
    # Of what is not refused: the same number is uniform above the part that is.
    is_lie = drawn < traits.silence + (1 - traits.silence) * traits.lies
    false, is_false = falsify(reply.tokens, bits * _SPREAD >> 16)
    lies = reply.is_told & is_lie & is_false
    return Reply(
        tokens=jnp.where(refuses, refusal, jnp.where(lies, false, reply.tokens)),
        kind=jnp.where(refuses, jnp.int8(REFUSED), reply.kind),
        fact=jnp.where(refuses | lies, NOTHING, reply.fact),
    )


def settle(
    dealings: Dealings,
    reply: Reply,
    *,
    asked: jax.Array,
    source: jax.Array,
    about: jax.Array,
    heard: jax.Array,
    step: jax.Array,
) -> tuple[Dealings, jax.Array]:
    """Keep the books of a step, in which a question was asked or not.

    Args:
        dealings: before it.
        reply: what the source said, if there was a question.
        asked: () bool, whether there was.
        source: () int32, to whom.
        about: bool for each wanted fact, which of them it asked for.
        heard: likewise, which the truth was heard about.
        step: () int32, the step, from 1 on.

    Returns:
        The dealings after it, and what the question cost: () float32.
    """
    answered = asked & (reply.kind != REFUSED)
    is_lie = asked & reply.is_told & (reply.fact == NOTHING)
    beliefs = dealings.beliefs | (MISLED * (about & is_lie)).astype(jnp.int8)
    acts_on = ~asked & (beliefs & MISLED > 0) & ~heard
    here = jnp.arange(len(dealings.answered)) == source
    after = replace(
        dealings,
        answered=dealings.answered + (here & answered),
        refusals=dealings.refusals + (asked & ~answered),
        lies=dealings.lies + is_lie,
        first_question=jnp.where((dealings.first_question == 0) & asked, step, dealings.first_question),
        beliefs=beliefs | (ACTED_ON * acts_on).astype(jnp.int8),
    )
    return after, jnp.where(answered, pick(dealings.character[:, _PRICE], source), 0)


def terms_of(specs: Sequence[SourceSpec], dealings: Dealings) -> jax.Array:
    """What an agent sees of its dealings: (sources, 3) float32.

    They are the price that is shown, what was paid so far, and how many questions were answered. An answer
    that was heard before makes no new note, so that their number alone tells that it was given again.
    """
    shows = np.array([spec.shows_price for spec in specs])
    return jnp.stack([dealings.character[:, _PRICE] * shows, dealings.paid, dealings.answered], -1)


def stats_of(dealings: Dealings) -> DealingStats:
    """What the questions of an episode amount to."""
    return DealingStats(
        paid=dealings.paid.sum(),
        refusals=dealings.refusals,
        lies=dealings.lies,
        acted_on=(dealings.beliefs & ACTED_ON > 0).sum(),
        first_question=dealings.first_question,
    )
