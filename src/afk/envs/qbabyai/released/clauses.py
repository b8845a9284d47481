"""What the released levels draw otherwise than ours: keys of given colours, objects that may be alike."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from afk.envs.qbabyai.levels.builder import LevelBuilder
from afk.envs.qbabyai.levels.clauses import GoToFavorite, OpenDoor
from afk.envs.qbabyai.world.cells import COLOURS


@dataclass(frozen=True)
class ColouredKeys(OpenDoor):
    """Open Door with keys of given colours.

    Attributes:
        colours: of the keys, one after the other; if there are more than keys, they are drawn from these.
        first_fits: whether the first key is always the one that fits.
    """

    colours: tuple[str, ...] = ()
    first_fits: bool = False

    def draw_keys(self, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The colours of the keys, (keys,) int32, and that of the one that fits, () int32."""
        colours_key, which_key = jax.random.split(key)
        colours = jnp.asarray([COLOURS.index(colour) for colour in self.colours])
        if len(self.colours) > self.keys:
            colours = jax.random.permutation(colours_key, colours)[: self.keys]
        which = 0 if self.first_fits else jax.random.randint(which_key, (), 0, self.keys)
        return colours, colours[which]


@dataclass(frozen=True)
class AnyFavorite(GoToFavorite):
    """Go to Favorite with objects of any kind and colour each: they may be alike, and like a key."""

    kinds: tuple[str, ...] = ("key", "ball", "box")
    colours: tuple[str, ...] = COLOURS

    def draw_things(self, builder: LevelBuilder, key: jax.Array) -> jax.Array:
        """Kind and colour of the objects, each drawn alone: (objects, 2) int."""
        choices = jnp.asarray(self.choices)
        return choices[jax.random.randint(key, (self.objects,), 0, len(choices))]
