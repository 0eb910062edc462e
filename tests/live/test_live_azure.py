"""A storage account keeps the contract on an account of yours, in real time; see `__init__.py`."""

import pytest
from tests.live.asking import AZURE, REASONS, asked

if not asked(AZURE):
    pytest.skip(REASONS[AZURE], allow_module_level=True)

from tests.live.harness import LiveAzureHarness
from tests.live.suites import SUITES

from tenure.testing.conformance import pytest_classes

pytestmark = pytest.mark.real_time


@pytest.fixture
def harness() -> LiveAzureHarness:
    """Names of its own."""
    return LiveAzureHarness(asked(AZURE))


globals().update(pytest_classes(SUITES))
