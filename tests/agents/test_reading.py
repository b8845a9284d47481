"""What an agent gets to read of its notes."""

import jax
import pytest

from afk.envs.level_pool import draw_pool
from afk.envs.qbabyai.world.words import VOCABULARY
from afk.knowledge.facts import UNUSED
from afk.training.build import play_of
from afk.training.presets import preset

from .notebook_reference import ReferenceNotebook


@pytest.mark.parametrize("agent", ["afk", "afk-plus"])
@pytest.mark.parametrize(
    "task",
    [
        "qbabyai/object-in-box",
        "qbabyai/open-door",
        "qbabyai/object-in-box+open-door",
        "qbabyai/object-in-box+danger+open-door",
    ],
)
def test_an_agent_can_read_all_that_a_level_has_to_say(task: str, agent: str) -> None:
    config = preset("fast", [task], agent=agent)
    play = play_of(config)
    states = jax.device_get(draw_pool(play.env, jax.random.key(0), 32).states)
    for mission, keys, answers in zip(
        states.level.mission, states.facts.keys, states.facts.answers, strict=True
    ):
        notebook = ReferenceNotebook(
            VOCABULARY.decode(mission), config.n_gram, config.alpha, play.rules.capacity
        )
        for key, answer in zip(keys, answers, strict=True):
            if key[0] != UNUSED:
                notebook.write(VOCABULARY.decode(answer))
        assert len(notebook.sets[0]) - 1 <= config.size.notes
        assert sum(map(len, notebook.sets.values())) <= play.rules.capacity
