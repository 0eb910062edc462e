"""The connections to one server, borrowed for one exchange at a time.

redis-py speaks the protocol, and hiredis writes the requests, which is most of the work of a large one. `topology.py`
decides whether a request is repeated, because a script that was sent twice could run twice. Any failure in the middle
of an exchange closes that connection: an unread answer must not be read as the answer to the next request.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hiredis import pack_command
from redis.asyncio.connection import Connection
from redis.exceptions import RedisError

from tenure.adapters.redis import faults
from tenure.clock import SYSTEM_CLOCK

Command = Sequence[Any]

#: A connection that lay idle for so long is looked at before it is used: the server may have closed it.
_STALE_SECONDS = 1.0
#: More than this many are closed when they are given back.
_IDLE_CONNECTIONS = 8


class ConnectionPool:
    """Connections to one server."""

    def __init__(self, make: Callable[[], Connection], place: str, timeout_seconds: float) -> None:
        """`make` a connection, not yet connected."""
        self._make = make
        self._place = place
        self._timeout = timeout_seconds
        #: Each with the moment at which it was put aside, on the machine's own clock.
        self._idle: list[tuple[Connection, float]] = []
        #: Raised by `drop`: connections from before are not used again.
        self.drops = 0

    async def exchange(self, commands: Iterable[Command], more_seconds: float = 0.0) -> list[Any]:
        """Send all commands, read all answers; errors that Redis answers with are among them.

        Each goes out as soon as it is made, so the server is at work on the first while the next is written. The server
        may take `more_seconds` than usual.
        """
        era = self.drops
        connection = await self._connected()
        sent = False
        try:
            async with asyncio.timeout(self._timeout + more_seconds):
                count = 0
                for command in commands:
                    packed = pack_command(tuple(command))
                    sent = True
                    await connection.send_packed_command(packed, check_health=False)
                    count += 1
                answers = [await _answer(connection) for _ in range(count)]
        except BaseException as error:
            await _close(connection)
            if isinstance(error, OSError | RedisError | asyncio.TimeoutError):
                await self.drop()  # what happened to this one has likely happened to all
                raise faults.translate(error, self._place, sent=sent) from error
            raise
        if era == self.drops and len(self._idle) < _IDLE_CONNECTIONS:
            self._idle.append((connection, SYSTEM_CLOCK.monotonic()))
        else:
            await _close(connection)
        return answers

    async def drop(self) -> None:
        """Use none of these connections again: they lead to a server that is no longer the right one."""
        self.drops += 1
        idle, self._idle = self._idle, []
        for connection, _ in idle:
            await _close(connection)

    async def close(self) -> None:
        """Close all idle connections."""
        await self.drop()

    async def _connected(self) -> Connection:
        while self._idle:
            connection, since = self._idle.pop()
            if SYSTEM_CLOCK.monotonic() - since < _STALE_SECONDS or await _is_fresh(connection):
                return connection
            await _close(connection)
        connection = self._make()
        try:
            async with asyncio.timeout(self._timeout):
                await connection.connect()  # type: ignore[no-untyped-call]
        except BaseException as error:
            await _close(connection)
            raise self._refused(error) from error
        return connection

    def _refused(self, error: BaseException) -> BaseException:
        if isinstance(error, OSError | RedisError | asyncio.TimeoutError):
            return faults.translate(error, self._place, sent=False)
        return error


async def _answer(connection: Connection) -> Any:
    try:
        return await connection.read_response(disable_decoding=True, disconnect_on_error=False)
    except RedisError as error:
        if isinstance(error, faults.ANSWERED):
            return error
        raise


async def _is_fresh(connection: Connection) -> bool:
    """There is nothing to read, not even the end of the connection."""
    try:
        look = getattr(connection, "can_read", None) or connection.can_read_destructive
        return not await look()
    except (OSError, RedisError):
        return False


async def _close(connection: Connection) -> None:
    try:
        await connection.disconnect(nowait=True)
    except (OSError, RedisError):  # it is closed, which is all that was wanted
        return
