"""The real worker keeps its promises over the in-memory broker, in every shape."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .harnesses import LooseMemoryHarness, MemoryHarness, SmallMemoryHarness


@pytest.fixture(params=[MemoryHarness, LooseMemoryHarness, SmallMemoryHarness], ids=["exact", "loose", "small"])
def harness(request: pytest.FixtureRequest) -> MemoryHarness:
    """A fresh store in virtual time."""
    kind: type[MemoryHarness] = request.param
    return kind()


globals().update(pytest_classes(WORKER_SUITES))
