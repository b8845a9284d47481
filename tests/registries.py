"""What a test registers is not there for other tests of its process."""

from collections.abc import Iterator
from typing import Any

import pytest

from afk.agents import build, variants
from afk.envs import registry
from afk.envs.qbabyai.world import goals
from afk.knowledge import catalogue
from afk.learning import algorithm


@pytest.fixture
def registries() -> Iterator[None]:
    """Tasks, agents, networks, algorithms and goals as they were before."""
    dictionaries: list[Any] = [
        build.NETWORKS,
        variants.VARIANTS,
        registry._registered,
        algorithm._registered,
        catalogue.SOURCES,
    ]
    before, goals_before = [dict(each) for each in dictionaries], list(goals.GOALS)
    yield
    for each, content in zip(dictionaries, before, strict=True):
        each.clear()
        each.update(content)
    goals.GOALS[:] = goals_before
