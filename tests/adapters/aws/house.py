"""A harness with a proxy on the way to both services, so that chosen calls go wrong."""

from collections.abc import Callable
from types import TracebackType

import msgspec
from tests.conformance.aws_harness import DynamoHarness
from tests.servers.aws import shared_aws
from tests.servers.proxy_http import Call, HttpProxy


class ProxiedHarness(DynamoHarness):
    """SQS and DynamoDB on ministack, behind a proxy."""

    def __init__(self) -> None:
        """The proxy lets everything pass at first."""
        super().__init__()
        self.proxy = HttpProxy(shared_aws(self.kind).port)
        self._options = msgspec.structs.replace(
            self._options, endpoint=self.proxy.url, state_endpoint=self.proxy.url, timeout_seconds=5.0
        )

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Everything passes again, so that all can be removed."""
        self.proxy.clear()
        try:
            await super().__aexit__(kind, error, trace)
        finally:
            self.proxy.stop()


def asks(operation: str) -> Callable[[Call], bool]:
    """A rule for one operation: `DeleteMessageBatch`."""
    return lambda call: call.target.endswith(b"." + operation.encode())


class Nth:
    """A rule for the call of that number from now on, counted from 0, whatever it is."""

    def __init__(self, number: int) -> None:
        """Count from here."""
        self._number = number
        self._seen = -1

    def __call__(self, _call: Call) -> bool:
        """Whether this is the one."""
        self._seen += 1
        return self._seen == self._number
