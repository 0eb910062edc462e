"""A world with a store in virtual time."""

import pytest
from tests.groups.world import World


@pytest.fixture
def world() -> World:
    return World()
