"""The way to the services: one client each, every call counted, timed and translated.

The SDK's own retries are off: what is tried again, and when, is decided above, where it is known what a second time
would do. A client belongs to one event loop; `Link.twin` is for another.

Used by `queues.py` and `dynamo.py`.
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

#: A receive may wait so long for messages; its answer takes as much longer.
POLL_SECONDS = 20
#: How many calls may be under way at once.
_CONNECTIONS = 50

#: Called with each client that is made, before it is used.
Prepare = Callable[[Any], None]

# Reading the services' descriptions takes half a second; a session keeps them.
_sessions: dict[str | None, AioSession] = {}


class Link:
    """Clients of SQS and DynamoDB on one event loop."""

    def __init__(self, options: Options, clock: Clock, prepare: Prepare | None = None) -> None:
        """Nothing is opened yet."""
        self.options = options
        self.clock = clock
        self.timeline = Timeline(clock)
        #: How often each operation was called.
        self.calls: Counter[str] = Counter()
        self._prepare = prepare
        self._clients: dict[str, Any] = {}
        self._opening: asyncio.Lock | None = None
        self._stack = contextlib.AsyncExitStack()
        self._under_way = 0
        #: Services whose region the SDK does not know; a new one, or a slip.
        self._misspelled: set[str] = set()

    def twin(self) -> "Link":
        """For another event loop."""
        return Link(self.options, self.clock, self._prepare)

    async def open(self) -> None:
        """Take note of the loop. Clients are made when they are first needed."""
        self._opening = asyncio.Lock()
        watch = getattr(asyncio.get_running_loop(), "watch", None)
        if watch is not None:  # virtual time must not go on while an answer is on its way
            watch(lambda: self._under_way > 0)

    async def close(self) -> None:
        """Close every client."""
        self._clients.clear()
        await self._stack.aclose()

    async def call(self, service: str, operation: str, place: str, **words: Any) -> Any:
        """One call; raises Tenure's errors."""
        self._under_way += 1
        try:
            client = self._clients.get(service) or await self._client(service)
            self.calls[operation] += 1
            asked = self.clock.monotonic()
            answer = await getattr(client, operation)(**words)
        except Exception as error:
            raise faults.translate(error, operation, place, is_misspelled=service in self._misspelled) from error
        finally:
            self._under_way -= 1
        self.timeline.hear(answer["ResponseMetadata"].get("HTTPHeaders", {}).get("date"), asked)
        return answer

    def _where(self, service: str) -> tuple[str, str | None]:
        """Region and endpoint; None: the region's own."""
        options, is_state = self.options, service == "dynamodb"
        region = (options.state_region if is_state else "") or options.region
        return region, (options.state_endpoint if is_state else None) or options.endpoint

    async def _client(self, service: str) -> Any:
        if self._opening is None:
            msg = "not open"
            raise RuntimeError(msg)
        async with self._opening:
            if service not in self._clients:
                self._clients[service] = await self._make(service)
        return self._clients[service]

    async def _make(self, service: str) -> Any:
        options = self.options
        session = _sessions.get(options.profile)
        if session is None:
            session = _sessions[options.profile] = AioSession(profile=options.profile)
        config = AioConfig(
            retries={"total_max_attempts": 1},
            connect_timeout=options.timeout_seconds,
            read_timeout=options.timeout_seconds + POLL_SECONDS,
            max_pool_connections=_CONNECTIONS,
            parameter_validation=False,
        )
        region, endpoint = self._where(service)
        if endpoint is None and region not in await session.get_available_regions(service):
            self._misspelled.add(service)
        client = await self._stack.enter_async_context(
            session.create_client(service, region_name=region, endpoint_url=endpoint, config=config)
        )
        if self._prepare is not None:
            self._prepare(client)
        return client
