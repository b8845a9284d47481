"""What an agent gets to read of its notes."""

import jax
import pytest

from afk.envs.base import draw_pool
from afk.envs.qbabyai.words import VOCABULARY
from afk.experiments.presets import preset
from afk.knowledge.facts import UNUSED

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
    states = jax.device_get(draw_pool(config.play.env, jax.random.key(0), 32).states)
    for mission, keys, answers in zip(
        states.level.mission, states.facts.keys, states.facts.answers, strict=True
    ):
        notebook = ReferenceNotebook(
            VOCABULARY.decode(mission), config.n_gram, config.alpha, config.play.rules.capacity
        )
        for key, answer in zip(keys, answers, strict=True):
            if key[0] != UNUSED:
                notebook.write(VOCABULARY.decode(answer))
        assert len(notebook.sets[0]) - 1 <= config.size.notes
        assert sum(map(len, notebook.sets.values())) <= config.play.rules.capacity
