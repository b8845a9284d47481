"""The whole of AFK on one task in one file: notebook, pointer heads, episodic bonus, PPO.

The notebook is the agent's memory, so a feed-forward network will do. Danger takes minutes on two cores.
"""

from collections import namedtuple
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import afk
from afk.agents.note_rules import note_taking
from afk.agents.notebook import Similarity, open_notebook, write
from afk.agents.reading import read_focus

ENVS, STEPS, EPOCHS, MINIBATCHES, WIDTH, CELL, NOTES, WORDS = 64, 40, 3, 8, 64, 32, 8, 6
GAMMA, LAMBDA, CLIP, ENTROPY, BONUS, SCALE, RATE = 0.95, 0.95, 0.2, 0.02, 0.03, 20.0, 1e-3

ENV = afk.make("S")  # Danger
RULES, VOCABULARY = note_taking(ENV, Similarity(), clauses=2), ENV.vocabulary
SIZES = (13, 6, 3, 4)  # values of the four channels of a cell
OPTIMISER = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(RATE, eps=1e-5))
Step = namedtuple("Step", "image words action log_probability value reward done")


class Policy(eqx.Module):
    """What is seen and what is noted to the heads of an action and V."""

    embedding: jax.Array
    cell: eqx.nn.Linear
    film: eqx.nn.Linear
    readout: eqx.nn.Linear
    heads: list[eqx.nn.Linear]

    def __init__(self, key: jax.Array) -> None:
        keys = iter(jax.random.split(key, 10))
        self.embedding = jax.random.normal(next(keys), (len(VOCABULARY.tokens), WIDTH)) * 0.5
        self.cell = eqx.nn.Linear(sum(SIZES), CELL, key=next(keys))
        self.film = eqx.nn.Linear(WIDTH, 2 * CELL, key=next(keys))
        self.readout = eqx.nn.Linear(7 * 7 * CELL + WIDTH, 2 * WIDTH, key=next(keys))
        outputs = (2, 7, 2, 1, WIDTH, WIDTH)  # switch, physical, func, V, and where to point for adj and noun
        self.heads = [eqx.nn.Linear(2 * WIDTH, size, key=next(keys)) for size in outputs]

    def __call__(self, image: jax.Array, words: jax.Array) -> tuple[list[jax.Array], jax.Array]:
        """Log-probabilities of <switch, physical, func, adj, noun> and V, for one (7, 7, 4) image."""
        cells = [jax.nn.one_hot(image[..., channel], size) for channel, size in enumerate(SIZES)]
        seen = jax.vmap(jax.vmap(self.cell))(jnp.concatenate(cells, -1))
        read = self.embedding[words] * (words > 0)[:, None]  # (words, width); 0 is padding
        scale, shift = jnp.split(self.film(noted := read.sum(0) / 4), 2)  # notes modulate what is seen
        seen = jax.nn.relu(seen * (1 + scale) + shift)
        hidden = jax.nn.relu(self.readout(jnp.concatenate([seen.ravel(), noted])))
        switch, physical, function, value, *queries = (head(hidden) for head in self.heads)
        classes = zip(queries, (VOCABULARY.adjectives, VOCABULARY.nouns), strict=True)
        words_said = [point(query, read, words, known) for query, known in classes]
        return [jax.nn.log_softmax(each) for each in (switch, physical, function, *words_said)], value[0]


def point(query: jax.Array, read: jax.Array, words: jax.Array, known: tuple[str, ...]) -> jax.Array:
    """Attention on the words that are read, added up by word of a class (section 3.2)."""
    index = words - VOCABULARY.token(known[0])
    legal = (index >= 0) & (index < len(known))
    scores = jnp.where(legal, read @ query * WIDTH**-0.5, -1e9)
    return jnp.log(jax.nn.softmax(scores) @ (jax.nn.one_hot(index, len(known)) * legal[:, None]) + 1e-8)


def chosen(logits: list[jax.Array], action: jax.Array) -> jax.Array:
    """The log-probability of an action: only the heads that it uses count."""
    switch, physical, *query = (each[part] for each, part in zip(logits, action, strict=True))
    return switch + jnp.where(action[0] == 1, sum(query), physical)


def read(notebooks: Any) -> jax.Array:
    """The words of the instruction and of A_0: (n, words)."""
    found = jax.vmap(partial(read_focus, notes=NOTES, words=WORDS))(notebooks)
    return jnp.append(found.instruction, found.notes.reshape(ENVS, -1), 1).astype(jnp.int32)


def rollout(policy: Policy, pool: Any, books: Any, carry: Any, key: jax.Array) -> Any:
    """One step in every episode; an answer that grows A_0 pays the bonus (section 3.3)."""
    batch, notebooks = carry
    image, words, keys = batch.observations.image, read(notebooks), jax.random.split(key, 5)
    logits, value = jax.vmap(policy)(image, words)
    action = jnp.stack([jax.random.categorical(*each) for each in zip(keys, logits, strict=True)], -1)
    batch, after = afk.advance(ENV, pool, batch, action)
    notebooks, grew = jax.vmap(partial(write, rules=RULES))(notebooks, after.observation.response)
    renew = jax.vmap(lambda done, new, old: jax.tree.map(partial(jnp.where, done), new, old))
    notebooks = renew(after.done, jax.tree.map(lambda leaf: leaf[batch.cursor], books), notebooks)
    reward, likely = SCALE * (after.reward + BONUS * grew), jax.vmap(chosen)(logits, action)
    return (batch, notebooks), (Step(image, words, action, likely, value, reward, after.done), after)


def loss(policy: Policy, step: Step, advantage: jax.Array, target: jax.Array) -> jax.Array:
    """PPO's clipped loss on a minibatch."""
    logits, value = jax.vmap(policy)(step.image, step.words)
    advantage = (advantage - advantage.mean()) / jnp.maximum(advantage.std(), 0.3)
    ratio = jnp.exp(jax.vmap(chosen)(logits, step.action) - step.log_probability)
    gain = jnp.minimum(ratio * advantage, jnp.clip(ratio, 1 - CLIP, 1 + CLIP) * advantage).mean()
    certainty = sum((jnp.exp(each) * each).sum(-1).mean() for each in logits[:2])
    return ENTROPY * certainty - gain + 0.25 * ((value - target) ** 2).mean()


@eqx.filter_jit
def update(policy: Policy, state: Any, carry: Any, pool: Any, books: Any, key: jax.Array) -> Any:
    """Play, estimate advantages, and learn for some epochs."""
    learn_key, *keys = jax.random.split(key, 1 + STEPS)
    carry, (steps, after) = jax.lax.scan(partial(rollout, policy, pool, books), carry, jnp.stack(keys))
    last = jax.vmap(policy)(carry[0].observations.image, read(carry[1]))[1][None]
    surprise = steps.reward + GAMMA * jnp.append(steps.value[1:], last, 0) * ~steps.done - steps.value

    def back(later: jax.Array, now: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        return (advantage := now[0] + GAMMA * LAMBDA * later * ~now[1]), advantage

    advantage = jax.lax.scan(back, 0 * last[0], (surprise, steps.done), reverse=True)[1]
    experience = steps, advantage, advantage + steps.value
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), experience)

    def learn(carry: Any, index: jax.Array) -> tuple[Any, None]:
        policy, state = carry
        part = jax.tree.map(lambda leaf: leaf[index], flat)
        changes, state = OPTIMISER.update(eqx.filter_grad(loss)(policy, *part), state)
        return (eqx.apply_updates(policy, changes), state), None

    orders = [jax.random.permutation(each, ENVS * STEPS) for each in jax.random.split(learn_key, EPOCHS)]
    minibatches = jnp.stack(orders).reshape(EPOCHS * MINIBATCHES, -1)
    policy, state = jax.lax.scan(learn, (policy, state), minibatches)[0]
    return policy, state, carry, (after.success.sum(), after.done.sum())


def main(updates: int = 250) -> float:
    """Train, and print success as it rises; returns the last rate."""
    policy, rate, ended = Policy(jax.random.key(0)), 0.0, []
    state = OPTIMISER.init(eqx.filter(policy, eqx.is_array))
    pool = afk.draw_pool(ENV, jax.random.key(1), 4096)
    books = jax.vmap(partial(open_notebook, rules=RULES))(pool.observations.mission)
    carry = afk.start_batch(pool, ENVS), jax.tree.map(lambda leaf: leaf[:ENVS], books)
    for number, key in enumerate(jax.random.split(jax.random.key(2), updates)):
        policy, state, carry, counts = update(policy, state, carry, pool, books, key)
        ended.append(counts)
        if number % 25 == 24:
            rate = float(jnp.divide(*jnp.array(ended[-25:]).sum(0)))
            print(f"{(number + 1) * ENVS * STEPS:,} steps: success {rate:.1%}", flush=True)
    return rate


if __name__ == "__main__":
    main()
