"""Settings by name: as published, what fills a GPU, and what two cores can train."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax

from afk.agents.agent import Size
from afk.agents.variants import find_variant
from afk.envs.qtextworld.tasks import Task as TextTask
from afk.envs.registry import find_task, task_named
from afk.experiments.config import Config
from afk.learn import dqn, ppo

# What makes learning an order of magnitude faster than with the published settings; see docs/decisions.md.
_OURS: dict[str, Any] = {
    "discount": 0.95,
    "clip_value": False,
    "settle_after": 0.6,
    "reward_scale": 20.0,
}
# Half of the training levels begin elsewhere, and half with some answers known.
_SPREAD: dict[str, Any] = {"scattered": 0.5, "told": 0.5}
# The authors train with rewards times 20.
PRESETS: dict[str, dict[str, Any]] = {
    "paper": {"settings": ppo.Settings(reward_scale=20.0)},
    "fast": {
        "steps": 5_000_000,
        "settings": ppo.Settings(
            environments=512,
            minibatches=8,
            epochs=2,
            learning_rate=6e-4,
            advantage_floor=1.0,
            bonus=0.05,
            bonus_until=0.6,
            half_precision=True,
            **_OURS,
        ),
        "chunk": 5,
        "evaluate_every": 40,
    },
    "laptop": {
        "steps": 800_000,
        "size": Size(
            width=32, head=32, view_layers=1, film_blocks=2, kernel=1, places=True, notes=8, distinct_notes=0
        ),
        "settings": ppo.Settings(
            environments=64,
            minibatches=8,
            epochs=3,
            learning_rate=1e-3,
            advantage_floor=0.3,
            entropy_weight=0.02,
            switch_entropy_weight=0.02,
            bonus=0.03,
            bonus_until=0.5,
            **_OURS,
        ),
        "levels": 4096,
        "chunk": 10,
        "evaluate_every": 10,
        "evaluation_episodes": 200,
    },
}
# The same for the improved agent: a network that looks at cells one by one, and many more episodes at once.
PLUS_PRESETS: dict[str, dict[str, Any]] = {
    "fast": PRESETS["fast"]
    | _SPREAD
    | {
        "steps": 20_000_000,
        "size": Size(kernel=1, notes=12, distinct_notes=0),
        "settings": replace(
            PRESETS["fast"]["settings"], epochs=3, learning_rate=5e-4, discount=0.97, bonus_until=0.5
        ),
        "chunk": 10,
    },
    "laptop": PRESETS["laptop"] | _SPREAD,
}
# As `fast`, but every level begins at its beginning, with nothing known.
PLUS_PRESETS["plain"] = PLUS_PRESETS["fast"] | {"scattered": 0.0, "told": 0.0}
# Where the improved agent learns many tasks: episodes at once, and of an evaluation, for each of them.
_EPISODES_A_TASK, _EVALUATED_A_TASK = 128, 100
# The same for Q-TextWorld. The paper trains for 500,000 episodes of at most 20 steps. Its tasks have some 800
# different notes, and A_0 hardly ever holds more than a dozen.
_PAPER_TEXT: dict[str, Any] = {
    "steps": 10_000_000,
    "size": Size(
        head=128, view_layers=4, kernel=7, instruction_words=28, notes=16, note_words=12, distinct_notes=1024
    ),
    "settings": dqn.Settings(),
    "levels": 16_384,
    "chunk": 5_000,
    "evaluate_every": 5_000,
}
# A small network in small batches: with twice the width and twice the games agents learned not to ask.
_FAST_TEXT: dict[str, Any] = {
    "steps": 2_000_000,
    "size": Size(width=32, head=32, instruction_words=28, notes=8, note_words=6, distinct_notes=0),
    "settings": ppo.Settings(
        environments=128,
        steps=20,
        minibatches=8,
        epochs=3,
        learning_rate=1e-3,
        advantage_floor=1.0,
        bonus=0.0,
        **_OURS,
    ),
    **_SPREAD,
    "chunk": 10,
    "evaluate_every": 20,
}
TEXT_PRESETS: dict[str, dict[str, Any]] = {
    "paper": _PAPER_TEXT,
    # As many samples a step, but enough at once to fill a GPU. Gradients of larger batches are less noisy, so
    # the learning rate is twice as high.
    "paper-wide": _PAPER_TEXT
    | {
        "settings": dqn.Settings(
            environments=1280, steps=1, batch=512, learning_rate=5e-4, half_precision=True
        ),
        "chunk": 32,
        "evaluate_every": 160,
    },
    "fast": _FAST_TEXT,
    "laptop": _FAST_TEXT
    | {
        "steps": 1_000_000,
        "levels": 2048,
        "evaluate_every": 10,
        "evaluation_episodes": 200,
    },
}
# Where the authors relate notes by single words; by pairs of words elsewhere.
UNI_GRAM_TASKS = (
    "qbabyai/open-door",
    "qbabyai/danger+open-door",
    "qbabyai/object-in-box+danger+open-door",
)
# Where the target is many rooms away, or behind a lock that chance hardly opens, and the published agent,
# too, trains from elsewhere (docs/solving-all-tasks.md). Where it is near that agent learns not to ask: what
# it gains where the answer is known, or the goal in sight, is too much.
WIDE_TASKS = (
    "qbabyai/go-to-favorite",
    "qbabyai/object-in-box+go-to-favorite",
    "qbabyai/object-in-box+open-door",
    "qbabyai/danger+open-door",
    "qbabyai/go-to-favorite+open-door",
    "qbabyai/object-in-box+danger+open-door",
    "qbabyai/object-in-box+go-to-favorite+open-door",
    "qbabyai/danger+go-to-favorite+open-door",
    "qbabyai/object-in-box+danger+go-to-favorite+open-door",
)
# Where all is in one room, and agents that ask do better with more entropy: they turn both ways.
NEAR_TASKS = ("qbabyai/object-in-box", "qbabyai/danger", "qbabyai/object-in-box+danger")
_LIVELY: dict[str, Any] = {"entropy_weight": 0.03, "switch_entropy_weight": 0.03, "bonus_until": 0.4}
# Where there is danger on the way to another room: what comes after an answer must count from further away.
PATIENT_TASKS = ("qbabyai/danger+go-to-favorite", "qbabyai/object-in-box+danger+go-to-favorite")
# Where A_0 has no more than a few notes: reading room for twenty would take a fifth of the time.
SHORT_TASKS = tuple(f"qbabyai/{name}" for name in ("object-in-box", "danger", "go-to-favorite", "open-door"))
# Nothing but a reward that may be far away teaches these: they keep the discount of the paper.
BASELINES = ("no-query", "query")


def default_preset() -> str:
    """What is trained with where nobody says: what this machine can do."""
    return "laptop" if jax.default_backend() == "cpu" else "fast"


def preset(name: str, tasks: Sequence[str], **changes: Any) -> Config:
    """A preset for some tasks with some fields changed; a ValueError if there is none of that name."""
    return Config(tuple(tasks), **preset_fields(name, tasks, **changes))


def preset_fields(name: str, tasks: Sequence[str], **changes: Any) -> dict[str, Any]:
    """The same as fields of a run, but for its tasks: nothing of their world has to be made to know them."""
    tasks = [task_named(task) for task in tasks]
    is_text = any(isinstance(find_task(task), TextTask) for task in tasks)
    is_plus = find_variant(changes.get("agent", Config.agent)).plus
    presets = TEXT_PRESETS if is_text else PLUS_PRESETS if is_plus else PRESETS
    if name not in presets:
        raise ValueError(f"unknown preset {name!r}; it is one of {', '.join(presets)}")
    # Pairs of words relate every good answer to the instruction; the authors use single ones in some tasks.
    is_single = is_text or (not is_plus and set(tasks) & set(UNI_GRAM_TASKS))
    fields: dict[str, Any] = {"n_gram": 1 if is_single else 2}
    if name != "paper" and set(tasks) & set(WIDE_TASKS):
        fields["scattered"] = 0.5
    fields |= presets[name]
    if name == "fast" and set(tasks) <= set(SHORT_TASKS) and not is_plus:
        fields["size"] = Size(notes=8)
    if name == "fast" and not is_text and changes.get("agent") in BASELINES:
        fields["settings"] = replace(fields["settings"], discount=PRESETS["paper"]["settings"].discount)
    elif name == "fast" and set(tasks) <= set(NEAR_TASKS) and not is_plus:
        fields["settings"] = replace(fields["settings"], **_LIVELY)
    elif name == "fast" and set(tasks) <= set(PATIENT_TASKS) and not is_plus:
        fields["settings"] = replace(fields["settings"], discount=0.98)
    if name in ("fast", "plain") and is_plus:
        episodes = max(fields["settings"].environments, _EPISODES_A_TASK * len(tasks))
        fields["settings"] = replace(fields["settings"], environments=episodes)
        fields |= {"levels": 8 * episodes, "evaluation_episodes": max(500, _EVALUATED_A_TASK * len(tasks))}
    return fields | changes
