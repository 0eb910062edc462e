"""SQS and DynamoDB keep the contract on an account of yours, in real time; see `__init__.py`."""

import pytest
from tests.live.asking import REASONS, SQS, asked

if not asked(SQS):
    pytest.skip(REASONS[SQS], allow_module_level=True)

from tests.live.harness import LiveSqsHarness
from tests.live.suites import SUITES

from tenure.testing.conformance import pytest_classes

#: aiohttp would rather have a file than the largest message that SQS takes; here a warning is an error.
pytestmark = [pytest.mark.real_time, pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")]


@pytest.fixture
def harness() -> LiveSqsHarness:
    """Names of its own."""
    return LiveSqsHarness(asked(SQS))


globals().update(pytest_classes(SUITES))
