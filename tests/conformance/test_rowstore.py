"""The core of a row store keeps the contract, over a table with etags and a queue in memory."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .rowstore_harness import RowStoreHarness


@pytest.fixture
def harness() -> RowStoreHarness:
    """A fresh store in virtual time."""
    return RowStoreHarness()


globals().update(pytest_classes(ALL_SUITES))
