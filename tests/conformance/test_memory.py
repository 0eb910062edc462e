"""The in-memory broker and state keep the contract, in both shapes."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .harnesses import LooseMemoryHarness, MemoryHarness


@pytest.fixture(params=[MemoryHarness, LooseMemoryHarness], ids=["exact", "loose"])
def harness(request: pytest.FixtureRequest) -> MemoryHarness:
    """A fresh store in virtual time."""
    kind: type[MemoryHarness] = request.param
    return kind()


globals().update(pytest_classes(ALL_SUITES))
