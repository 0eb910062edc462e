"""The way to the services: one client each, every call counted, timed and translated.

The SDK's own retries are off: what is tried again, and when, is decided above, where it is known what a second time
would do. A client belongs to one event loop; `Session.twin` is for another. Receives have a client of their own: only
they may wait for long, and a heartbeat must not wait so for a line that has gone dead.

What was refused from the beginning is a mistake. What was taken before (these credentials, this operation on this
queue) and is refused now is an outage: a worker goes on, and tries again.

Used by `sqs.py` and `dynamo.py`.
"""

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable
from typing import Any

from aiobotocore.config import AioConfig  # type: ignore[import-untyped]
from aiobotocore.session import AioSession  # type: ignore[import-untyped]

from tenure.adapters.aws import faults
from tenure.adapters.aws.options import Options
from tenure.adapters.aws.timeline import Timeline
from tenure.clock import Clock
from tenure.errors import LoginRefused

#: A receive may wait so long for messages; its answer takes as much longer.
POLL_SECONDS = 20
#: The client of SQS whose calls may wait.
_POLL = "poll"
#: These ask whether something is there: that it is not is an answer.
_LOOKS = frozenset({"get_queue_url", "describe_table"})
#: How many calls may be under way at once.
_CONNECTIONS = 50
#: And how many that may wait: those of a worker on many queues (`rowstore/prefetch.py`), and those of lease calls.
_POLLS = 120

#: Called with each client that is made, before it is used.
Prepare = Callable[[Any], None]

# Reading the services' descriptions takes a while, so they are kept.
_LOADER = "data_loader"
_descriptions: list[Any] = []


class Session:
    """Clients of SQS and DynamoDB on one event loop."""

    def __init__(
        self, options: Options, clock: Clock, prepare: Prepare | None = None,
        worked: set[tuple[str, str]] | None = None, timeline: Timeline | None = None,
    ) -> None:  # fmt: skip
        """Nothing is opened yet."""
        self.options = options
        self.clock = clock
        #: Shared with twins: what one of them hears holds for all.
        self.timeline = Timeline(clock) if timeline is None else timeline
        #: How often each operation was called.
        self.calls: Counter[str] = Counter()
        self._prepare = prepare
        self._clients: dict[str, Any] = {}
        #: Of this loop alone: credentials that must be renewed are renewed under a lock that belongs to one loop.
        self._session: Any = None
        self._opening: asyncio.Lock | None = None
        self._stack = contextlib.AsyncExitStack()
        self._under_way = 0
        #: Services whose region the SDK does not know; a new one, or a slip.
        self._misspelled: set[str] = set()
        #: What was carried out before, here or by a twin: services, and operations with the queue that they spoke of.
        self._worked = set[tuple[str, str]]() if worked is None else worked

    def twin(self) -> "Session":
        """For another event loop."""
        return Session(self.options, self.clock, self._prepare, self._worked, self.timeline)

    async def open(self) -> None:
        """Take note of the loop. Clients are made when they are first needed."""
        self._opening = asyncio.Lock()
        watch = getattr(asyncio.get_running_loop(), "watch", None)
        if watch is not None:  # virtual time must not go on while an answer is on its way
            watch(lambda: self._under_way > 0)

    async def close(self) -> None:
        """Close every client."""
        self._clients.clear()
        self._session = None
        await self._stack.aclose()

    async def call(self, service: str, operation: str, place: str, **words: Any) -> Any:
        """One call; raises Tenure's errors."""
        self._under_way += 1
        what = (operation, words.get("QueueUrl", ""))
        try:
            client = await self._client(_POLL if operation == "receive_message" else service)
            self.calls[operation] += 1
            asked = self.clock.monotonic()
            answer = await getattr(client, operation)(**words)
        except Exception as error:
            said = faults.translate(error, operation, place, is_misspelled=service in self._misspelled)
            is_known = (service, "") in self._worked if isinstance(said, LoginRefused) else what in self._worked
            raise (faults.outage(said) if is_known else said) from error
        finally:
            self._under_way -= 1
        if what not in self._worked and operation not in _LOOKS:
            self._worked |= {what, (service, "")}
        self.timeline.hear(answer["ResponseMetadata"].get("HTTPHeaders", {}).get("date"), asked)
        return answer

    def _where(self, service: str) -> tuple[str, str | None]:
        """Region and endpoint; None: the region's own."""
        options, is_state = self.options, service == "dynamodb"
        region = (options.state_region if is_state else "") or options.region
        return region, (options.state_endpoint if is_state else None) or options.endpoint

    async def _client(self, service: str) -> Any:
        if service in self._clients:
            return self._clients[service]
        if self._opening is None:
            msg = "not open"
            raise RuntimeError(msg)
        async with self._opening:
            if service not in self._clients:
                self._clients[service] = await self._make(service)
        return self._clients[service]

    async def _make(self, name: str) -> Any:
        options = self.options
        if self._session is None:
            self._session = new_session(options.profile)
        session = self._session
        config = AioConfig(
            retries={"total_max_attempts": 1},
            connect_timeout=options.timeout_seconds,
            read_timeout=options.timeout_seconds + (POLL_SECONDS if name == _POLL else 0),
            max_pool_connections=_POLLS if name == _POLL else _CONNECTIONS,
            parameter_validation=False,
        )
        service = "sqs" if name == _POLL else name
        region, endpoint = self._where(service)
        if endpoint is None and region not in await session.get_available_regions(service):
            self._misspelled.add(service)
        client = await self._stack.enter_async_context(
            session.create_client(service, region_name=region, endpoint_url=endpoint, config=config)
        )
        if self._prepare is not None:
            self._prepare(client)
        return client


def new_session(profile: str | None) -> Any:
    """For one event loop."""
    session = AioSession(profile=profile)
    if _descriptions:
        session.register_component(_LOADER, _descriptions[0])
    else:
        _descriptions.append(session.get_component(_LOADER))
    return session
