"""Blob clean-up: discards stored bodies that no message needs any more.

They remain where a process died between two steps (after a body was stored and before its message was sent, or after an
ack and before the body was discarded), and where a message was cancelled, deleted or purged. The record of the message
decides, not the age of the body: while the message can run, also as a dead letter by a redrive, its body stays.

One worker at a time checks some of them, every ten minutes. Runs on the worker's loop.
"""

import asyncio
import logging

from tenure.blobs import StoredBlob, owner_of
from tenure.client.claim_check import ClaimCheck
from tenure.errors import TenureError
from tenure.message import MessageState
from tenure.state import Board, Records
from tenure.text.plural import plural

logger = logging.getLogger("tenure.tidying")

#: How often to look, and at how many.
TIDY_SECONDS = 600.0
PAGE = 200
#: Younger ones are left alone: their messages may be on their way.
YOUNG_SECONDS = 3600.0

_FINISHED = (MessageState.COMPLETED, MessageState.CANCELLED)


class BlobCollector:
    """Removes bodies that no message needs from one blob store."""

    def __init__(self, check: ClaimCheck, records: Records, board: Board, token: str) -> None:
        """`token` is this worker's, where only one is to look."""
        self._check = check
        self._records = records
        self._board = board
        self._token = token
        #: Where the last look ended. Empty: begin again.
        self._after = ""

    async def run(self) -> None:
        """Clean up until cancelled."""
        while True:
            await asyncio.sleep(TIDY_SECONDS)
            try:
                if await self._board.take_turn("tidy-cloakroom", self._token, 1.5 * TIDY_SECONDS):
                    gone = await self.look()
                    logger.debug("discarded %s that no message needs", plural(gone, "body", "bodies"))
            except TenureError as error:
                logger.warning("could not clean up stored bodies; will try again: %s", error)

    async def look(self) -> int:
        """Look at the next page; how many bodies were discarded."""
        await self._check.open()
        page = await self._check.blob_store.browse(after=self._after, limit=PAGE)
        self._after = page[-1].name if len(page) == PAGE else ""
        orphans = [left.name for left in page if await self._is_orphan(left)]
        if orphans:
            await self._check.blob_store.discard(orphans)
        return len(orphans)

    async def _is_orphan(self, left: StoredBlob) -> bool:
        owner = owner_of(left.name)
        if left.age_seconds < YOUNG_SECONDS or owner.id is None:
            return False
        record = await self._records.get(owner.id, owner.queue)
        if record is None:  # never sent, or finished and forgotten long ago
            return left.age_seconds >= self._check.blob_store.keep_seconds
        return record.queue == owner.queue and record.state in _FINISHED
