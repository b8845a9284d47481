"""What the agent reads at a step: its instruction and some notes, in rows of fixed length."""

import equinox as eqx
import jax
import jax.numpy as jnp

from afk.agents.notebook import Notebook, NoteTaking, in_focus, split_clauses
from afk.language import PAD


class Reading(eqx.Module):
    """The words that an agent can see and point to; leading axes are batches.

    Attributes:
        instruction: (..., instruction words) tokens, v_0 without glue.
        notes: (..., notes, note words) tokens; rows that are not used are padding.
    """

    instruction: jax.Array
    notes: jax.Array


def read_focus(notebook: Notebook, *, notes: int, words: int) -> Reading:
    """The latest notes of A_0 beside the instruction, in the order of writing.

    Args:
        notebook: a single notebook.
        notes: how many notes are read; if A_0 holds more, the first are not.
        words: how many words of a note are read.
    """
    focus = in_focus(notebook).at[0].set(False)
    place = jnp.cumsum(focus) - 1 - jnp.maximum(focus.sum() - notes, 0)
    chosen = focus & (place == jnp.arange(notes)[:, None])
    rows = jnp.where(chosen[:, :, None], notebook.notes[:, :words], PAD).max(1)
    return Reading(notebook.notes[0], rows)


def read_latest(
    notebook: Notebook, latest: jax.Array, *, rules: NoteTaking, notes: int, words: int
) -> Reading:
    """The instruction and the latest response only: what an agent without a notebook has.

    Args:
        notebook: a single notebook, for the instruction alone.
        latest: (tokens,) the response to the last action, all padding when nothing was asked.
        rules: how a response is split into clauses.
        notes: how many notes there is room for; the clauses of the response take the first of them.
        words: how many words of a clause are read.
    """
    clauses = jnp.stack(split_clauses(latest, rules.clauses, rules))[:notes, :words]
    return Reading(
        notebook.notes[0], jnp.pad(clauses, ((0, notes - len(clauses)), (0, 0)), constant_values=PAD)
    )
