"""Notices: the machine is about to be taken away, so the worker drains.

It leases nothing more at once, and what runs may finish. Shortly before the machine goes, what still runs is returned,
so that another worker has it seconds later and need not wait for the lease to end.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

import msgspec

from tenure.clock import Clock
from tenure.platforms.calls import Unanswered

logger = logging.getLogger("tenure.platform")

LOOK_SECONDS = 5.0
#: What runs is returned so long before the machine goes.
RETURN_SECONDS = 15.0


class Notice(msgspec.Struct, frozen=True):
    """What the platform has announced."""

    #: In words, for the log and for the worker's last event.
    why: str
    #: When the machine goes, in Unix seconds. None: not said.
    at: float | None


class NoticeBoard(Protocol):
    """Where a platform announces it."""

    name: str

    async def read(self) -> Notice | None:
        """The notice about this machine. None: there is none. Raises `Unanswered`."""
        ...


class Drainable(Protocol):
    """A worker."""

    def drain(self, why: str) -> None:
        """Lease nothing more, let what runs finish, and stop."""
        ...

    def ask_to_stop(self) -> None:
        """Stop within the grace; asked again: return everything now."""
        ...


class NoticeWatch:
    """Reads the boards, and drains the worker at the first notice."""

    def __init__(self, boards: Sequence[NoticeBoard], worker: Drainable, clock: Clock) -> None:
        """Watch for `worker`."""
        self._boards = boards
        self._worker = worker
        self._clock = clock
        self._silent: set[str] = set()

    async def run(self) -> None:
        """Watch until there is a notice, and see the worker out."""
        while True:
            for board in self._boards:
                notice = await self._read(board)
                if notice is not None:
                    await self._leave(notice)
                    return
            await asyncio.sleep(LOOK_SECONDS)

    async def _read(self, board: NoticeBoard) -> Notice | None:
        try:
            found = await board.read()
        except Unanswered as error:
            if board.name not in self._silent:
                logger.warning(
                    "notices of %s cannot be read: %s; tried again every %.0f s", board.name, error, LOOK_SECONDS
                )
            self._silent.add(board.name)
            return None
        self._silent.discard(board.name)
        return found

    async def _leave(self, notice: Notice) -> None:
        left = None if notice.at is None else notice.at - self._clock.wall()
        when = "" if left is None else f", in {max(0.0, left):.0f} s"
        logger.warning("%s%s: the worker drains", notice.why, when)
        self._worker.drain(notice.why)
        if left is None:
            return
        await asyncio.sleep(max(0.0, left - RETURN_SECONDS))
        self._worker.ask_to_stop()
        self._worker.ask_to_stop()
