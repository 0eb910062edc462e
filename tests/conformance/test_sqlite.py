"""SQLite keeps the contract."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .harnesses import SqliteHarness


@pytest.fixture
def harness() -> SqliteHarness:
    """A fresh file in virtual time."""
    return SqliteHarness()


globals().update(pytest_classes(ALL_SUITES))
