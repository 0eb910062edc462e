"""Confirming: with `durability=replicated` a batch is answered when a replica has it.

What each setting keeps is said in `options.py`. Used by `topology.py`.
"""

from collections.abc import Sequence
from typing import Any

from redis.exceptions import ResponseError

from tenure.adapters.redis.connection_pool import Command


class Replication:
    """Waits until writes have reached a replica: asked after the requests, on the connection that wrote.

    Only there does Redis know what was written before. A repeated request may write nothing, and newer servers then
    count what was written before it as confirmed; so something small is written in any case.
    """

    def __init__(self, seconds: float, *, disk_too: bool) -> None:
        """Wait so long for a replica and, with `disk_too`, for this server's own disk."""
        self.seconds = seconds
        milliseconds = round(1000 * seconds)
        self._asks: list[Command] = [("WAIT", 1, milliseconds)]
        if disk_too:
            self._asks.append(("WAITAOF", 1, 0, milliseconds))
        #: Why it is not confirmed. Empty: it is.
        self.lack = ""

    @property
    def size(self) -> int:
        """The number of answers that `commands` gets."""
        return len(self._asks) + 1

    def commands(self, key: str) -> list[Command]:
        """Return the commands that follow requests about `key`."""
        return [("SET", f"{key}confirmed", "", "PX", 60_000), *self._asks]

    def read(self, answers: Sequence[Any]) -> None:
        """The last answers of an exchange. A lack stays, whatever others say."""
        written, replicas, *disk = answers
        if isinstance(written, BaseException):
            self.lack = f"the confirmation was refused ({written})"
        elif isinstance(replicas, BaseException) or replicas < 1:
            self.lack = "no replica confirmed it"
        elif disk and isinstance(disk[0], ResponseError):
            return  # it keeps no log of writes, so there is no disk to wait for
        elif disk and disk[0][0] < 1:
            self.lack = "its disk did not confirm it"
