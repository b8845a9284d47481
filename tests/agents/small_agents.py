"""Agents of toy size for Q-BabyAI, and what they have before them."""

import jax
import jax.numpy as jnp
import numpy as np

from afk.agents.base import Size
from afk.agents.grid_agent import GridAgent
from afk.agents.networks.encoders import CELL_FEATURES
from afk.agents.notebook import NoteTaking
from afk.agents.plus_agent import PlusAgent
from afk.agents.reading import Reading
from afk.agents.variants import VARIANTS
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.envs.registry import make

ENV = make("qbabyai/danger")
RULES = NoteTaking(VOCABULARY, dropped=("is", "in"), unknown=("i dont know",))
SIZE = Size(width=16, head=8, view_layers=1, film_blocks=1, notes=4, distinct_notes=0)
READ = (
    ("find jack toy", "jack toy red ball", "red ball mary suitcase", "mary suitcase blue box"),
    ("avoid danger zone go to the green square", "danger zone blue"),
    ("go to the kitchen",),
    ("open the door", "red key to the door", "red key room1", "blue key room0"),
)


def build(name: str = "afk", size: Size = SIZE) -> GridAgent:
    return GridAgent(VARIANTS[name], size, VOCABULARY, ENV.action_sizes[1], key=jax.random.key(3))


def build_plus(name: str = "afk-plus") -> PlusAgent:
    return PlusAgent(VARIANTS[name], SIZE, VOCABULARY, ENV.action_sizes[1], key=jax.random.key(3))


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
