"""The subscriber: one connection on which the server announces messages to lease.

However many queues a worker serves, it waits on this one connection, and no one asks again and again. Scripts publish
on a channel of the queue whenever something becomes ready or will (`wake`). The connection notices its own end at
once, and is made again.

Used by `store.py`; belongs to one event loop.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Container, Iterable
from typing import Any

from redis.asyncio.connection import Connection
from redis.exceptions import RedisError, ResponseError

from tenure.adapters.redis import faults
from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError
from tenure.rules.backoff import backoff_seconds

logger = logging.getLogger("tenure.redis")

#: Pauses between attempts to connect again: first, and at most.
_FIRST_PAUSE, _LAST_PAUSE = 0.05, 1.0
_SETTLE = b"tenure:settle:"
#: Channels that are remembered for those who lease next.
_MOST_NEW = 1000
#: Messages on a channel without a waiter before it is left.
_UNHEARD = 3


class Subscriber:
    """The waiters of this loop, and their connection."""

    def __init__(
        self,
        connect: Callable[[], Awaitable[Connection]],
        place: str,
        on_loss: Callable[[], Awaitable[None]],
        timeout_seconds: float,
    ) -> None:
        """`connect` makes a connection; `on_loss` is called when it has ended."""
        self._timeout = timeout_seconds
        self._on_loss = on_loss
        self._connect = connect
        self._place = place
        self._connection: Connection | None = None
        self._task: asyncio.Task[None] | None = None
        self._channels: dict[bytes, int] = {}
        #: Channels to be left in a moment, unless a waiter asks for them first.
        self._leaving: set[bytes] = set()
        self._waiters: dict[asyncio.Future[bool], Container[bytes]] = {}
        #: Channels with a message that no waiter named.
        self._new: set[bytes] = set()
        self._answers: dict[bytes, list[asyncio.Future[None]]] = {}
        self._starting = asyncio.Lock()
        #: How much was said on each channel.
        self._heard: dict[bytes, int] = {}
        #: Grows whenever something may have been said that was not heard.
        self._gaps = 0
        #: Answers that are on their way; a loop in virtual time must not go on before they are here.
        self.pending = 0

    async def start(self) -> None:
        """Be connected, and stay so."""
        if self._task is not None:
            return
        self.pending += 1
        try:
            async with self._starting:
                if self._task is None:
                    self._connection = await self._connect()
                    self._task = asyncio.get_running_loop().create_task(self._run())
        finally:
            self.pending -= 1

    async def hang_up(self) -> None:
        """End the connection; it is made again at once."""
        # It must not be used from now on: redis-py would connect it again by itself.
        connection, self._connection = self._connection, None
        self._gaps += 1
        if connection is not None:
            with contextlib.suppress(OSError, RedisError):
                await connection.disconnect(nowait=True)

    async def close(self) -> None:
        """Let go of the connection."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._lose(None)

    async def subscribe(self, channels: Iterable[str]) -> None:
        """Hear what is said on these channels from now on."""
        await self.start()
        new = [channel.encode() for channel in channels if channel.encode() not in self._channels]
        if new:
            self._leaving.difference_update(new)
            connection = self._connection
            await self._say([b"SUBSCRIBE", *new], [b"subscribe " + channel for channel in new])
            if self._connection is not connection:
                # It answered, and ended before we came to hear of it: the next one knows nothing of these.
                raise faults.away(self._place, None, sent=False)
            self._channels.update(dict.fromkeys(new, 0))

    async def subscribe_to_all(self, pattern: str) -> None:
        """Hear what is said on every channel whose name begins so."""
        await self.start()
        name = pattern.encode()
        if name not in self._channels:
            self._leaving.discard(name)
            connection = self._connection
            await self._say([b"PSUBSCRIBE", name], [b"psubscribe " + name])
            if self._connection is not connection:
                raise faults.away(self._place, None, sent=False)
            self._channels[name] = 0

    def mark(self, channel: str) -> tuple[int, int] | None:
        """How much was heard on a channel. None: it is not listened to.

        As long as the mark stays the same, nothing was said there that arrived here.
        """
        name = channel.encode()
        return (self._gaps, self._heard.get(name, 0)) if name in self._channels else None

    def take_heard(self) -> set[bytes]:
        """The channels on which something was said since this was last asked, by `subscribe_to_all`."""
        heard, self._new = self._new, set()
        return heard

    async def settle(self, publish: Callable[[str], Awaitable[int]]) -> None:
        """Return when everything published before has been received. A loop in virtual time would not wait for it."""
        if self._connection is None or not self._channels:
            return
        channel = f"{_SETTLE.decode()}{id(self)}"
        self.pending += 1
        try:
            await self.subscribe([channel])
            before = self._heard.get(channel.encode(), 0)
            count = await publish(channel)
            while self._heard.get(channel.encode(), 0) < before + count:
                waiter = self.enter([channel])
                try:
                    if not await waiter:
                        return
                finally:
                    self.leave(waiter)
        except BrokerUnavailable:
            return  # the waiters get that error themselves
        finally:
            self.pending -= 1

    def enter(self, channels: Iterable[str]) -> "asyncio.Future[bool]":
        """Wait for a message on one of these channels. False: the connection is gone."""
        return self.enter_for(frozenset(channel.encode() for channel in channels))

    def enter_for(self, channels: Container[bytes]) -> "asyncio.Future[bool]":
        """Likewise, on those that `channels` has."""
        waiter: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiters[waiter] = channels
        return waiter

    def leave(self, waiter: "asyncio.Future[bool]") -> None:
        """Wait no longer."""
        self._waiters.pop(waiter, None)
        waiter.cancel()

    async def _say(self, command: list[bytes], answers: list[bytes]) -> None:
        connection = self._connection
        if connection is None:
            raise faults.away(self._place, None, sent=False)
        futures = [asyncio.get_running_loop().create_future() for _ in answers]
        for answer, future in zip(answers, futures, strict=True):
            self._answers.setdefault(answer, []).append(future)
        self.pending += 1
        try:
            async with asyncio.timeout(self._timeout):
                await connection.send_packed_command(connection.pack_command(*command), check_health=False)
                await asyncio.gather(*futures)
        except (OSError, RedisError) as error:
            await self.hang_up()
            raise faults.away(self._place, error, sent=False) from error
        finally:
            self.pending -= 1

    async def _run(self) -> None:
        while True:
            error: Exception | None = None
            try:
                await self._read()
            except (OSError, RedisError) as trouble:
                error = trouble
            await self._lose(error)
            await self._on_loss()
            await self._connect_again()

    async def _read(self) -> None:
        while self._connection is not None:
            try:
                words = await self._connection.read_response(disable_decoding=True, disconnect_on_error=False)
            except ResponseError as error:
                self._refuse(error)
            else:
                self._hear(words)

    def _refuse(self, error: ResponseError) -> None:
        """Something that was asked for is not allowed; the line itself is in order."""
        for futures in self._answers.values():
            for future in futures:
                if not future.done():
                    future.set_exception(faults.translate(error, self._place, sent=False))
        self._answers.clear()

    def _hear(self, words: Any) -> None:
        kind, channel = words[0], words[1]
        if kind == b"message":
            self._heard[channel] = self._heard.get(channel, 0) + 1
            self._wake(channel, channel)
            return
        if kind == b"pmessage":
            pattern, channel = channel, words[2]
            if not channel.startswith(_SETTLE):
                if len(self._new) < _MOST_NEW:
                    self._new.add(channel)
                self._wake(channel, pattern)
            return
        waiting = self._answers.get(kind + b" " + channel, [])
        for future in waiting:
            if not future.done():
                future.set_result(None)
        waiting.clear()

    def _wake(self, channel: bytes, name: bytes) -> None:
        """`name`: of the subscription by which it was heard."""
        heard = False
        for waiter, channels in self._waiters.items():
            if channel in channels and not waiter.done():
                waiter.set_result(True)
                heard = True
        if name in self._channels and not name.startswith(_SETTLE):
            self._channels[name] = 0 if heard else self._channels[name] + 1
            # With all channels subscribed, others may get messages for long while a waiter waits for its own.
            is_idle = name == channel or not self._waiters
            if self._channels[name] >= _UNHEARD and self._connection is not None and is_idle:
                # A busy worker needs no message. The next waiter subscribes again.
                del self._channels[name]
                self._gaps += 1
                self._leaving.add(name)
                word = b"unsubscribe" if name == channel else b"punsubscribe"
                asyncio.get_running_loop().create_task(self._unsubscribe(word, name))

    async def _unsubscribe(self, word: bytes, name: bytes) -> None:
        if name not in self._leaving:
            return  # it was asked for again, and that is said already: this must not come after it
        self._leaving.discard(name)
        with contextlib.suppress(BrokerUnavailable):
            await self._say([word.upper(), name], [word + b" " + name])

    async def _lose(self, error: BaseException | None) -> None:
        connection, self._connection = self._connection, None
        self._channels.clear()
        self._gaps += 1
        self._leaving.clear()
        for waiter in self._waiters:
            if not waiter.done():
                waiter.set_result(False)
        for futures in self._answers.values():
            for future in futures:
                if not future.done():
                    future.set_exception(faults.away(self._place, error, sent=False))
        self._answers.clear()
        if connection is not None:
            with contextlib.suppress(OSError, RedisError):
                await connection.disconnect(nowait=True)

    async def _connect_again(self) -> None:
        failures = 0
        while self._connection is None:
            try:
                self._connection = await self._connect()
            except (BrokerError, ConfigurationError) as error:  # those who ask hear of it, too
                failures += 1
                if failures == 1:  # once an outage
                    logger.debug("the subscription failed: %s; trying again until it works", error)
                await asyncio.sleep(backoff_seconds(failures, _FIRST_PAUSE, _LAST_PAUSE))
