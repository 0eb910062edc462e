"""The in-memory broker and state keep the contract, in every shape."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .harnesses import LooseMemoryHarness, MemoryHarness, SmallMemoryHarness


@pytest.fixture(params=[MemoryHarness, LooseMemoryHarness, SmallMemoryHarness], ids=["exact", "loose", "small"])
def harness(request: pytest.FixtureRequest) -> MemoryHarness:
    """A fresh store in virtual time."""
    kind: type[MemoryHarness] = request.param
    return kind()


globals().update(pytest_classes(ALL_SUITES))
