"""A client that answers as a test says, in virtual time: for what no real service can be made to do."""

from collections.abc import Callable
from typing import Any

from azure.core.exceptions import HttpResponseError

from tenure.clock import Clock


class Updated:
    """What the Azure SDK answers to an update."""

    def __init__(self, pop_receipt: str) -> None:
        """With the new receipt."""
        self.pop_receipt = pop_receipt


class FakeSqs:
    """An async client of SQS for one message: keeps its end, and may fail on order."""

    def __init__(self, clock: Clock, visible_at: float) -> None:
        """Hidden until `visible_at`, by the clock."""
        self.clock = clock
        self.visible_at = visible_at
        self.calls: list[tuple[float, int]] = []
        self.fails: Callable[[float], Exception | None] = lambda now: None

    async def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> None:  # noqa: N803
        """As SQS does: from now on, not in addition."""
        now = self.clock.monotonic()
        self.calls.append((now, VisibilityTimeout))
        error = self.fails(now)
        if error is not None:
            raise error
        assert now < self.visible_at, "the message was visible to others"
        self.visible_at = now + VisibilityTimeout

    async def delete_message(self, **words: Any) -> None:
        """It may be deleted."""


def storage_error(code: str, status: int) -> HttpResponseError:
    """What the Azure SDK raises."""
    error = HttpResponseError(code)
    error.status_code = status
    error.error_code = code  # type: ignore[attr-defined]
    return error
