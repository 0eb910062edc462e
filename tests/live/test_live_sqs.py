"""SQS and DynamoDB keep the contract on an account of yours, in real time; see `__init__.py`."""

import pytest
from tests.live.asking import REASONS, SQS, asked

if not asked(SQS):
    pytest.skip(REASONS[SQS], allow_module_level=True)

from tests.live.harness import LiveSqsHarness
from tests.live.suites import SUITES

from tenure.testing.conformance import pytest_classes

pytestmark = pytest.mark.real_time


@pytest.fixture
def harness() -> LiveSqsHarness:
    """Names of its own."""
    return LiveSqsHarness(asked(SQS))


globals().update(pytest_classes(SUITES))
