"""A harness with a proxy on the way to both services, so that chosen calls go wrong."""

import contextlib
from collections.abc import Callable
from types import TracebackType

import msgspec
from tests.conformance.aws_harness import DynamoHarness
from tests.servers.aws import shared_aws
from tests.servers.proxy_http import Call, HttpProxy

from tenure.errors import BrokerUnavailable


class ProxiedHarness(DynamoHarness):
    """SQS and DynamoDB on ministack, behind a proxy."""

    #: Rarely, to have fewer calls.
    sweep_interval_seconds = 15.0

    def __init__(self) -> None:
        """The proxy lets everything pass at first."""
        super().__init__()
        self.proxy = HttpProxy(shared_aws(self.kind).port)
        self._options = msgspec.structs.replace(
            self._options, endpoint=self.proxy.url, state_endpoint=self.proxy.url, timeout_seconds=5.0
        )

    async def die(self) -> None:
        """The process is gone, with all that it knew: whoever comes next knows what the services know."""
        self.proxy.rule(lambda _: True, self.proxy.cut)
        with contextlib.suppress(BrokerUnavailable):
            await self._close()
        self.proxy.clear()
        await self._open()

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


class Once:
    """A rule for the first call of a kind."""

    def __init__(self, matches: Callable[[Call], bool]) -> None:
        """Wait for it."""
        self._matches = matches
        self.was_seen = False

    def __call__(self, call: Call) -> bool:
        """Whether this is the one."""
        is_it = not self.was_seen and self._matches(call)
        self.was_seen = self.was_seen or is_it
        return is_it


class From:
    """A rule for every call from that number on, counted from 0: whoever makes them has died before."""

    def __init__(self, number: int) -> None:
        """Count from here."""
        self._left = number

    def __call__(self, _call: Call) -> bool:
        """Whether it is dead by now."""
        self._left -= 1
        return self._left < 0


#: What changes nothing: to die before it is to die before the next call that does.
_READS = (
    b".BatchGetItem",
    b".Query",
    b".DescribeTable",
    b".DescribeTimeToLive",
    b".GetQueueUrl",
    b".GetQueueAttributes",
)


class FromChange(From):
    """As `From`, but only the calls that change something are counted."""

    def __call__(self, call: Call) -> bool:
        """Whether it is dead by now."""
        if self._left > 0 and call.target.endswith(_READS):
            return False
        return super().__call__(call)


class Nth:
    """A rule for the call of that number from now on, counted from 0, whatever it is."""

    def __init__(self, number: int) -> None:
        """Count from here."""
        self._left = number + 1

    def __call__(self, _call: Call) -> bool:
        """Whether this is the one."""
        self._left -= 1
        return self._left == 0
