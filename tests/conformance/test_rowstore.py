"""The core of a row store keeps the contract, over a table with etags and a queue in memory."""

import pytest

from tenure.testing.conformance import ALL_SUITES, pytest_classes

from .rowstore_harness import RenewingHarness, RowStoreHarness


@pytest.fixture(params=[RowStoreHarness, RenewingHarness], ids=["same-receipts", "new-receipts"])
def harness(request: pytest.FixtureRequest) -> RowStoreHarness:
    """A fresh store in virtual time."""
    kind: type[RowStoreHarness] = request.param
    return kind()


globals().update(pytest_classes(ALL_SUITES))
