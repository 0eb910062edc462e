"""The real worker keeps its promises over the in-memory broker, in both shapes."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .harnesses import LooseMemoryHarness, MemoryHarness


@pytest.fixture(params=[MemoryHarness, LooseMemoryHarness], ids=["exact", "loose"])
def harness(request: pytest.FixtureRequest) -> MemoryHarness:
    """A fresh store in virtual time."""
    kind: type[MemoryHarness] = request.param
    return kind()


globals().update(pytest_classes(WORKER_SUITES))
