"""Names that configurations and checkpoints had before the field's own words, so that old ones load."""

from collections.abc import Mapping
from typing import Any

_FIELDS = {
    "scattered": "random_start_fraction",
    "told": "hint_fraction",
    "misled": "wrong_key_fraction",
    "cluttered": "distractor_fraction",
    "chunk": "log_every",
    "first": "initial_agent",
}
_SETTINGS = {
    "steps": "rollout_steps",
    "trace": "gae_lambda",
    "value_weight": "value_coef",
    "entropy_weight": "entropy_coef",
    "switch_entropy_weight": "switch_entropy_coef",
    "gradient_norm": "max_grad_norm",
    "lend_bonus": "potential_based_bonus",
    "settle_after": "anneal_after",
}
_AGENTS = {
    "afk-plus-no-names": "afk-plus-no-word-cells",
    "afk-plus-no-meeting": "afk-plus-no-cell-attention",
    "afk-plus-no-turns": "afk-plus-no-autoregression",
}
# Parts of networks, as they stand in the paths of a checkpoint's arrays.
_PARTS = {
    "speech": "query_heads",
    "meeting": "attention",
    "told": "function_context",
    "named": "noun_context",
}
# Arrays of levels that came later, by the last part of their path: older checkpoints have zeros there.
LATER_ARRAYS = ("boxes_passable",)


def upgrade(content: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a run, as JSON, under today's names; one that has them stays as it is."""
    upgraded = {_FIELDS.get(name, name): value for name, value in content.items()}
    settings = {_SETTINGS.get(name, name): value for name, value in content["settings"].items()}
    upgraded["settings"] = {"algorithm": "ppo", **settings}
    if "agent" in upgraded:
        upgraded["agent"] = _AGENTS.get(upgraded["agent"], upgraded["agent"])
    return upgraded


def upgrade_path(name: str) -> str:
    """The path of an array of a checkpoint under today's names."""
    return ".".join(_PARTS.get(part, part) for part in name.split("."))


def downgrade_path(name: str) -> str:
    """The path of an array of a checkpoint under its earlier names, which old digests were made with."""
    earlier = {new: old for old, new in _PARTS.items()}
    return ".".join(earlier.get(part, part) for part in name.split("."))
