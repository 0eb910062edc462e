"""Tidying: discards bodies in the cloakroom that no message will ask for.

They are left behind where a process died between two steps: after a body was left and before its message was sent, or
after an ack and before the body was discarded; and where a message was cancelled, deleted or purged. The record of a
message decides, not its age: as long as it can run (also as a dead letter, by a redrive), its body stays.

One worker at a time looks, at some of them every ten minutes. Runs on the worker's loop.
"""

import asyncio
import logging

from tenure.claim_check import ClaimCheck
from tenure.cloakroom import Left, owner_of
from tenure.errors import TenureError
from tenure.message import MessageState
from tenure.plural import plural
from tenure.state import Board, Records

logger = logging.getLogger("tenure.tidying")

#: How often to look, and at how many.
TIDY_SECONDS = 600.0
PAGE = 200
#: Younger ones are left alone: their messages may be on their way.
YOUNG_SECONDS = 3600.0

_FINISHED = (MessageState.COMPLETED, MessageState.CANCELLED)


class Tidier:
    """Keeps one cloakroom tidy."""

    def __init__(self, check: ClaimCheck, records: Records, board: Board, token: str) -> None:
        """`token` is this worker's, where only one is to look."""
        self._check = check
        self._records = records
        self._board = board
        self._token = token
        #: Where the last look ended. Empty: begin again.
        self._after = ""

    async def run(self) -> None:
        """Tidy up for ever."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                if await self._board.take_turn("tidy-cloakroom", self._token, 1.5 * TIDY_SECONDS):
                    gone = await self.look()
                    logger.debug("discarded %s that no message needs", plural(gone, "body", "bodies"))
            except TenureError as error:
                logger.warning("the cloakroom was not tidied, next time then: %s", error)

    async def look(self) -> int:
        """Look at the next page; how many bodies were discarded."""
        await self._check.open()
        page = await self._check.cloakroom.browse(after=self._after, limit=PAGE)
        self._after = page[-1].name if len(page) == PAGE else ""
        orphans = [left.name for left in page if await self._is_orphan(left)]
        if orphans:
            await self._check.cloakroom.discard(orphans)
        return len(orphans)

    async def _is_orphan(self, left: Left) -> bool:
        owner = owner_of(left.name)
        if left.age_seconds < YOUNG_SECONDS or owner.id is None:
            return False
        record = await self._records.get(owner.id, owner.queue)
        if record is None:  # never sent, or finished so long ago that nobody knows
            return left.age_seconds >= self._check.cloakroom.keep_seconds
        return record.queue == owner.queue and record.state in _FINISHED
