"""The real worker keeps its promises over SQS."""

from typing import Any, ClassVar

import pytest

from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.worker import WORKER_SUITES

from .aws_harness import FauxqsHarness


class LongHarness(FauxqsHarness):
    """One message may be held for longer than `long_seconds`."""

    changes: ClassVar[dict[str, Any]] = {"hold_seconds": 700.0}


@pytest.fixture
def harness() -> FauxqsHarness:
    """Fresh queues in virtual time."""
    return LongHarness()


globals().update(pytest_classes(WORKER_SUITES))
