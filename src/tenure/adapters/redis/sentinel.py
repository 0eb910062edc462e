"""Finds the master of a service by asking the Sentinels that watch it."""

import asyncio
from collections.abc import Iterable
from typing import Any

from redis.asyncio.sentinel import Sentinel
from redis.exceptions import AuthenticationError, RedisError

from tenure.adapters.redis import faults
from tenure.adapters.redis.connecting import Address, no_retry, tls
from tenure.adapters.redis.connection_pool import Command
from tenure.adapters.redis.options import RedisOptions
from tenure.adapters.redis.replication import Replication
from tenure.adapters.redis.topology import Topology
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable

#: How often Sentinels are asked whether the master still is the master, and how long that may take.
_ASK_AGAIN_SECONDS, _PATIENCE_SECONDS = 1.0, 0.5


class SentinelLink(Topology):
    """The way to the master of a service."""

    def __init__(self, options: RedisOptions) -> None:
        """Ask Sentinels when it is first needed."""
        super().__init__(options)
        self._master: Address | None = None
        self._asked = 0.0
        how: dict[str, Any] = {
            "password": options.sentinel_password,
            "socket_timeout": options.timeout_seconds,
            "socket_connect_timeout": options.timeout_seconds,
            "retry": no_retry(),
        }
        if options.tls:
            how |= {"ssl": True, **tls(options)}
        self._sentinel = Sentinel(list(options.hosts), sentinel_kwargs=how)  # type: ignore[no-untyped-call]

    async def address_of(self, key: str) -> Address:  # noqa: ARG002 - there is only one
        """The master, as the Sentinels name it.

        They are asked once a second: a master that was replaced goes on taking writes until it learns of that, and
        those are lost. Where none of them answers, the one that is known still counts.
        """
        master, now = self._master, SYSTEM_CLOCK.monotonic()
        if master is None:
            # Not by way of the attribute: others may drop it in the meantime.
            master = self._master = await self._ask_sentinels()
            self._asked = now
        elif now - self._asked >= _ASK_AGAIN_SECONDS:
            self._asked = now  # others need not wait for the answer
            try:
                async with asyncio.timeout(_PATIENCE_SECONDS):
                    said = await self._ask_sentinels()
            except (BrokerUnavailable, TimeoutError):
                return master
            if said != master:
                await self.drop()
            master = self._master = said
        return master

    async def close(self) -> None:
        """Close the connections, those to the Sentinels too."""
        await super().close()
        for one in self._sentinel.sentinels:
            await one.aclose()

    async def _ask_sentinels(self) -> Address:
        try:
            master: Address = await self._sentinel.discover_master(self.options.service)
        except (TimeoutError, OSError, RedisError) as error:
            raise faults.translate(error, self.options.place, sent=False) from error
        return master

    async def drop(self) -> None:
        """Ask the Sentinels again, too."""
        self._master = None
        await super().drop()

    async def _ask_all(
        self, commands: Iterable[tuple[str, Command]], confirmation: Replication | None = None
    ) -> list[Any]:
        try:
            answers = await super()._ask_all(commands, confirmation)
        except BrokerUnavailable:
            await self.drop()
            raise
        if any(isinstance(answer, AuthenticationError) for answer in answers):
            await self.drop()
        return answers
