"""A small decoder in JAX: rotary positions, RMS norms, gated layers, the embedding tied to the output.

Parameters are float32; what is computed is bfloat16, but float32 on CPUs, where that is faster. Rows are
padded on the right, where nothing that matters attends to them, so that no mask but the causal one is needed.
"""

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from language import CONTEXT, END, PAD
from safetensors import numpy as safetensors

from afk.files import write_file

HEAD = 64  # channels of a head
LONGEST = 24  # tokens of a reply
_BASE = 10_000.0  # of the rotary positions


class Decoder(NamedTuple):
    """The parameters; what every layer has is stacked.

    Attributes:
        embedding: (words, width), of the output as well.
        attention_norm: (layers, width).
        attend: (layers, width, 3 width), queries, keys and values.
        gather: (layers, width, width), after attention.
        norm: (layers, width).
        widen: (layers, width, 2 hidden), gates and values.
        narrow: (layers, hidden, width).
        last_norm: (width,).
    """

    embedding: jax.Array
    attention_norm: jax.Array
    attend: jax.Array
    gather: jax.Array
    norm: jax.Array
    widen: jax.Array
    narrow: jax.Array
    last_norm: jax.Array


def make_decoder(key: jax.Array, words: int, *, width: int = 320, layers: int = 8) -> Decoder:
    """A decoder at its start; of 10.3M parameters if nothing is said."""
    keys = jax.random.split(key, 5)
    hidden = 64 * round(2.8 * width / 64)

    def draw(key: jax.Array, *shape: int) -> jax.Array:
        return jax.random.normal(key, shape) * 0.02

    thin = (2 * layers) ** -0.5  # of what adds to the stream
    return Decoder(
        embedding=draw(keys[0], words, width),
        attention_norm=jnp.ones((layers, width)),
        attend=draw(keys[1], layers, width, 3 * width),
        gather=draw(keys[2], layers, width, width) * thin,
        norm=jnp.ones((layers, width)),
        widen=draw(keys[3], layers, width, 2 * hidden),
        narrow=draw(keys[4], layers, hidden, width) * thin,
        last_norm=jnp.ones(width),
    )


def count_parameters(model: Decoder) -> int:
    """How many numbers there are to learn."""
    return sum(leaf.size for leaf in model)


def save(model: Decoder, path: Path) -> None:
    """Write a decoder in bfloat16."""
    leaves = {name: np.asarray(leaf.astype(jnp.bfloat16)) for name, leaf in model._asdict().items()}
    write_file(path, safetensors.save(leaves))


def load(path: Path) -> Decoder:
    """Read a decoder."""
    leaves = safetensors.load_file(path)
    return Decoder(**{name: jnp.asarray(leaf, jnp.float32) for name, leaf in leaves.items()})


def computed() -> Any:
    """The type of what is computed."""
    return jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16


def run(model: Decoder, tokens: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
    """Read rows of tokens.

    Args:
        model: the decoder.
        tokens: (rows, length) int.

    Returns:
        What is thought at each, (rows, length, width), and the keys and values, each (layers, rows, length,
        heads, `HEAD`).
    """
    places = jnp.arange(tokens.shape[1])[None]

    def layer(
        stream: jax.Array, part: tuple[jax.Array, ...]
    ) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        queries, keys, values = _attend(stream, part, places)
        seen = jax.nn.dot_product_attention(queries, keys, values, is_causal=True)
        return _go_on(stream, seen, part), (keys, values)

    stream = model.embedding.astype(computed())[tokens]
    stream, cache = jax.lax.scan(jax.checkpoint(layer), stream, _layers(model))
    return _normalise(stream, model.last_norm), cache


def score(model: Decoder, tokens: jax.Array) -> jax.Array:
    """The logarithm of the probability of every token but the first, (rows, length - 1) float32."""
    thought, _ = run(model, tokens)
    logits = (thought[:, :-1] @ model.embedding.astype(computed()).T).astype(jnp.float32)
    chosen = jnp.take_along_axis(logits, tokens[:, 1:, None], -1)[..., 0]
    return chosen - jax.nn.logsumexp(logits, -1)


@partial(jax.jit, static_argnames="temperature")
def reply(
    model: Decoder, tokens: jax.Array, lengths: jax.Array, key: jax.Array, temperature: float = 0.0
) -> jax.Array:
    """What the model says to rows of tokens, (rows, `LONGEST`) int32, padded after its end.

    Args:
        model: the decoder.
        tokens: (rows, length) int, padded on the right.
        lengths: (rows,) int, tokens of each row.
        key: what is drawn from.
        temperature: 0 says what is most likely.
    """
    rows, length = tokens.shape
    thought, (keys, values) = run(model, tokens)
    thought = jnp.take_along_axis(thought, lengths[:, None, None] - 1, 1)[:, 0]
    is_prompt = jnp.arange(length)[None] < lengths[:, None]
    layers, heads = keys.shape[0], keys.shape[3]
    empty = jnp.zeros((layers, rows, LONGEST, heads, HEAD), keys.dtype)

    def choose(thought: jax.Array, key: jax.Array) -> jax.Array:
        logits = (thought @ model.embedding.astype(computed()).T).astype(jnp.float32)
        if temperature:
            return jax.random.categorical(key, logits / temperature).astype(jnp.int32)
        return logits.argmax(-1).astype(jnp.int32)

    def more(carry: tuple[jax.Array, ...]) -> jax.Array:
        number, said = carry[:2]
        return (number < LONGEST) & ~(said == END).any(-1).all()

    def say(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        number, said, thought, new_keys, new_values = carry
        token = choose(thought, jax.random.fold_in(key, number))
        token = jnp.where((said == END).any(-1), PAD, token)
        said = said.at[:, number].set(token)
        places = (lengths + number)[:, None]
        is_new = jnp.broadcast_to(jnp.arange(LONGEST) <= number, (rows, LONGEST))
        mask = jnp.concatenate([is_prompt, is_new], 1)[:, None, None]

        def layer(stream: jax.Array, part: tuple[Any, ...]) -> tuple[jax.Array, Any]:
            weights, old_keys, old_values, keys, values = part
            query, key, value = _attend(stream, weights, places)
            keys, values = keys.at[:, number].set(key[:, 0]), values.at[:, number].set(value[:, 0])
            seen = jax.nn.dot_product_attention(
                query,
                jnp.concatenate([old_keys, keys], 1),
                jnp.concatenate([old_values, values], 1),
                mask=mask,
            )
            return _go_on(stream, seen, weights), (keys, values)

        stream = model.embedding.astype(computed())[token][:, None]
        parts = (_layers(model), keys, values, new_keys, new_values)
        stream, (new_keys, new_values) = jax.lax.scan(layer, stream, parts)
        return number + 1, said, _normalise(stream, model.last_norm)[:, 0], new_keys, new_values

    said = jnp.full((rows, LONGEST), PAD, jnp.int32)
    return jax.lax.while_loop(more, say, (jnp.int32(0), said, thought, empty, empty))[1]


def _layers(model: Decoder) -> tuple[jax.Array, ...]:
    """What every layer has, in the precision of what is computed."""
    parts = (model.attention_norm, model.attend, model.gather, model.norm, model.widen, model.narrow)
    return tuple(part.astype(computed()) for part in parts)


def _attend(
    stream: jax.Array, part: tuple[jax.Array, ...], places: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Queries, keys and values, each (rows, length, heads, `HEAD`)."""
    mixed = _normalise(stream, part[0]) @ part[1]
    queries, keys, values = (each.reshape(*each.shape[:2], -1, HEAD) for each in jnp.split(mixed, 3, axis=-1))
    return _turn(queries, places), _turn(keys, places), values


def _go_on(stream: jax.Array, seen: jax.Array, part: tuple[jax.Array, ...]) -> jax.Array:
    """The rest of a layer."""
    stream = stream + seen.reshape(stream.shape) @ part[2]
    gates, values = jnp.split(_normalise(stream, part[3]) @ part[4], 2, axis=-1)
    return stream + (jax.nn.silu(gates) * values) @ part[5]


def _normalise(stream: jax.Array, scale: jax.Array) -> jax.Array:
    """A root mean square norm, in float32."""
    wide = stream.astype(jnp.float32)
    wide = wide * jax.lax.rsqrt((wide**2).mean(-1, keepdims=True) + 1e-6)
    return (wide * scale.astype(jnp.float32)).astype(computed())


def _turn(heads: jax.Array, places: jax.Array) -> jax.Array:
    """Rotary positions: (rows, length, heads, `HEAD`) turned by (rows or 1, length) places."""
    speeds = _BASE ** (-jnp.arange(HEAD // 2) / (HEAD // 2))
    angles = places[..., None, None] * speeds
    first, second = jnp.split(heads.astype(jnp.float32), 2, axis=-1)
    sine, cosine = jnp.sin(angles), jnp.cos(angles)
    turned = jnp.concatenate([first * cosine - second * sine, first * sine + second * cosine], -1)
    return turned.astype(computed())


def bucket(size: int, sizes: tuple[int, ...] = (256, 512, 1024, 2048, CONTEXT)) -> int:
    """The smallest of some sizes that is enough: few shapes are compiled."""
    return next(each for each in sizes if each >= size)
