"""A world with a store in virtual time."""

import pytest
from tests.webhooks.world import World


@pytest.fixture
def world() -> World:
    return World()
