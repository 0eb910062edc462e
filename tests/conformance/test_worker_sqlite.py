"""The real worker keeps its promises over SQLite."""

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .harnesses import SqliteHarness


@pytest.fixture
def harness() -> SqliteHarness:
    """A fresh file in virtual time."""
    return SqliteHarness()


globals().update(pytest_classes(WORKER_SUITES))
