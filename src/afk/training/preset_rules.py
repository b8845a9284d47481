"""The table behind presets: which hyperparameters hold for which presets, worlds, agents and tasks.

Rules that match are applied from top to bottom, so that what stands below overrides. How each value was found
is in ``docs/lab-notebook.md``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from afk.agents.variants import find_variant
from afk.envs.registry import task_named

# Groups of tasks that rules are about, by the paper's letters.
GROUPS = {
    # Where the authors relate notes by single words; by pairs of words elsewhere.
    "uni-gram": ("H", "SH", "CSH"),
    # Where the target is many rooms away, or behind a lock that chance hardly opens.
    "wide": ("D", "CD", "CH", "SH", "DH", "CSH", "CDH", "SDH", "CSDH"),
    # Where all is in one room.
    "near": ("C", "S", "CS"),
    # Where there is danger on the way to another room.
    "patient": ("SD", "CSD"),
    # Where A_0 has no more than a few notes.
    "short": ("C", "S", "D", "H"),
    # What the authors train for 30M and for 50M steps instead of 20M.
    "long": ("CS", "SD", "CSD", "CSH", "CDH", "SDH", "CSDH"),
    "longest": ("SH",),
}
# Groups of agents that rules are about: whether an agent belongs to one.
AGENTS = {
    "any": lambda name: True,
    "published": lambda name: find_variant(name).network != "plus",
    "plus": lambda name: find_variant(name).network == "plus",
    "baseline": lambda name: name in ("no-query", "query"),
    "asking": lambda name: find_variant(name).network != "plus" and name not in ("no-query", "query"),
}


@dataclass(frozen=True)
class Rule:
    """A row of the table: where it applies, and what it sets.

    Attributes:
        presets: the presets that it is part of.
        world: the world.
        agents: a group of `AGENTS`.
        values: hyperparameters by name, as in the file of a run.
        tasks: a group of `GROUPS`; all tasks if empty.
        any_task: whether one task of the group is enough; all that a run has must be in it otherwise.
        per_task: values that grow with the number of tasks: at least so much for each.
    """

    presets: tuple[str, ...]
    world: str
    agents: str
    values: Mapping[str, Any] = field(default_factory=dict)
    tasks: str = ""
    any_task: bool = False
    per_task: Mapping[str, int] = field(default_factory=dict)

    def applies(self, preset: str, world: str, agent: str, tasks: set[str]) -> bool:
        """Whether it is for a run."""
        if preset not in self.presets or world != self.world or not AGENTS[self.agents](agent):
            return False
        group = {task_named(letters) for letters in GROUPS.get(self.tasks, ())}
        return not self.tasks or (bool(tasks & group) if self.any_task else tasks <= group)


# What makes learning an order of magnitude faster than with the published settings; see docs/decisions.md.
_OURS: dict[str, Any] = {
    "settings.discount": 0.95,
    "settings.clip_value": False,
    "settings.anneal_after": 0.6,
    "settings.reward_scale": 20.0,
}
_CURRICULUM = {"random_start_fraction": 0.5, "hint_fraction": 0.5}
_GRID, _TEXT = "qbabyai", "qtextworld"

RULES = (
    # Q-BabyAI as published: the defaults, and what only the released code tells. Its value loss is the whole
    # squared error where ours is half of it, so that a coefficient of 1 here is its 0.5.
    Rule(
        ("paper", "released"),
        _GRID,
        "published",
        {
            "settings.gae_lambda": 0.99,
            "settings.value_coef": 1.0,
            "settings.switch_entropy_coef": 0.05,
            "settings.normalise_advantages": False,
            "settings.bootstrap_time_limit": False,
            "settings.reward_scale": 20.0,
        },
    ),
    Rule(
        ("released",),
        _GRID,
        "published",
        {"settings.discount": 0.95, "settings.bonus_until": 0.6, "keep_last_answer": True},
    ),
    Rule(("paper", "released"), _GRID, "published", {"steps": 30_000_000}, tasks="long", any_task=True),
    Rule(("paper", "released"), _GRID, "published", {"steps": 50_000_000}, tasks="longest", any_task=True),
    Rule(
        ("paper", "released", "fast", "laptop"),
        _GRID,
        "published",
        {"n_gram": 1},
        tasks="uni-gram",
        any_task=True,
    ),
    # Q-BabyAI on a GPU.
    Rule(
        ("fast", "plain"),
        _GRID,
        "any",
        {
            "steps": 5_000_000,
            "settings.environments": 512,
            "settings.minibatches": 8,
            "settings.epochs": 2,
            "settings.learning_rate": 6e-4,
            "settings.advantage_floor": 1.0,
            "settings.bonus": 0.05,
            "settings.bonus_until": 0.6,
            "settings.half_precision": True,
            **_OURS,
            "log_every": 5,
            "evaluate_every": 40,
        },
    ),
    # Reading room for twenty notes would take a fifth of the time.
    Rule(("fast",), _GRID, "published", {"size.notes": 8}, tasks="short"),
    # Nothing but a reward that may be far away teaches the baselines: they keep the discount of the paper.
    Rule(("fast",), _GRID, "baseline", {"settings.discount": 0.99}),
    # With more entropy agents that ask turn both ways.
    Rule(
        ("fast",),
        _GRID,
        "asking",
        {"settings.entropy_coef": 0.03, "settings.switch_entropy_coef": 0.03, "settings.bonus_until": 0.4},
        tasks="near",
    ),
    # What comes after an answer must count from further away.
    Rule(("fast",), _GRID, "asking", {"settings.discount": 0.98}, tasks="patient"),
    # A network that looks at cells one by one, and more episodes at once.
    Rule(
        ("fast", "plain"),
        _GRID,
        "plus",
        {
            "steps": 20_000_000,
            "size.kernel": 1,
            "size.notes": 12,
            "size.distinct_notes": 0,
            "settings.epochs": 3,
            "settings.learning_rate": 5e-4,
            "settings.discount": 0.97,
            "settings.bonus_until": 0.5,
            "log_every": 10,
        },
        per_task={"settings.environments": 128, "levels": 1024, "evaluation_episodes": 100},
    ),
    # Q-BabyAI on two cores.
    Rule(
        ("laptop",),
        _GRID,
        "any",
        {
            "steps": 800_000,
            "size.width": 32,
            "size.head": 32,
            "size.view_layers": 1,
            "size.film_blocks": 2,
            "size.kernel": 1,
            "size.places": True,
            "size.notes": 8,
            "size.distinct_notes": 0,
            "settings.environments": 64,
            "settings.minibatches": 8,
            "settings.epochs": 3,
            "settings.learning_rate": 1e-3,
            "settings.advantage_floor": 0.3,
            "settings.entropy_coef": 0.02,
            "settings.switch_entropy_coef": 0.02,
            "settings.bonus": 0.03,
            "settings.bonus_until": 0.5,
            **_OURS,
            "log_every": 10,
            "evaluate_every": 10,
            "evaluation_episodes": 200,
        },
    ),
    # Where the goal is near, the published agent learns from random starts not to ask: it wins without.
    Rule(("fast", "laptop"), _GRID, "published", {"random_start_fraction": 0.5}, tasks="wide", any_task=True),
    Rule(("fast", "laptop"), _GRID, "plus", _CURRICULUM),
    # Q-TextWorld as published: 500,000 episodes of at most 20 steps. Its tasks have some 800 different notes,
    # and A_0 hardly ever holds more than a dozen. An answer is one note, of twelve words at most.
    Rule(("paper", "paper-wide", "fast", "laptop"), _TEXT, "any", {"n_gram": 1, "clauses": 1}),
    Rule(
        ("paper", "paper-wide"),
        _TEXT,
        "any",
        {
            "steps": 10_000_000,
            "size.head": 128,
            "size.view_layers": 4,
            "size.kernel": 7,
            "size.instruction_words": 28,
            "size.notes": 16,
            "size.note_words": 12,
            "size.distinct_notes": 1024,
            "settings.algorithm": "dqn",
            "levels": 16_384,
            "log_every": 5_000,
            "evaluate_every": 5_000,
        },
    ),
    # Gradients of larger batches are less noisy, so the learning rate is twice as high.
    Rule(
        ("paper-wide",),
        _TEXT,
        "any",
        {
            "settings.environments": 1280,
            "settings.rollout_steps": 1,
            "settings.batch": 512,
            "settings.learning_rate": 5e-4,
            "settings.half_precision": True,
            "log_every": 32,
            "evaluate_every": 160,
        },
    ),
    # A small network in small batches: with twice the width and twice the games agents learned not to ask.
    Rule(
        ("fast", "laptop"),
        _TEXT,
        "any",
        {
            "steps": 2_000_000,
            "size.width": 32,
            "size.head": 32,
            "size.instruction_words": 28,
            "size.notes": 8,
            "size.note_words": 12,
            "size.distinct_notes": 0,
            "settings.environments": 128,
            "settings.rollout_steps": 20,
            "settings.minibatches": 8,
            "settings.epochs": 3,
            "settings.learning_rate": 1e-3,
            "settings.advantage_floor": 1.0,
            "settings.bonus": 0.0,
            **_OURS,
            **_CURRICULUM,
            "log_every": 10,
            "evaluate_every": 20,
        },
    ),
    Rule(
        ("laptop",),
        _TEXT,
        "any",
        {"steps": 1_000_000, "levels": 2048, "evaluate_every": 10, "evaluation_episodes": 200},
    ),
)
