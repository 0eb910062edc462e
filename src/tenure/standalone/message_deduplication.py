"""Doing a message once, over as many workers as there are.

    async with deduplicator.once("order-17") as turn:
        if turn.is_first:
            await charge()

Pass your own id of the work (an order, an idempotency key), not the queue's: a message that is sent again has a new one
there. `check_duplicate` and `mark_processed` are the two halves, for code that has them apart; between them two workers
may do the same.

This module is async; the same names without `await` are in `tenure.standalone.sync`.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tenure.standalone.deduplicating import Deduplicating
from tenure.standalone.steps import run_async
from tenure.standalone.turn import DeduplicationRecord, Turn, TurnState

__all__ = ["DeduplicationRecord", "MessageDeduplicator", "Turn", "TurnState"]


class MessageDeduplicator(Deduplicating):
    """Remembers what was done, for one service."""

    async def check_duplicate(self, message_id: str, correlation_id: str | None = "") -> tuple[bool, str | None]:
        """Whether it was done already: (True, a sentence that says when and by whom) or (False, None)."""
        return await run_async(self.check_steps(message_id, correlation_id))

    async def mark_processed(
        self, message_id: str, correlation_id: str | None = "", payload_hash: str | None = None
    ) -> None:
        """Remember that it was done."""
        await run_async(self.mark_steps(message_id, correlation_id, payload_hash))

    @asynccontextmanager
    async def once(
        self, message_id: str, correlation_id: str | None = "", payload_hash: str | None = None
    ) -> AsyncIterator[Turn]:
        """Take the turn for the length of the block: done when it ends well, free again when it raises.

        Raises `KeyConflict` where the same id had another payload, and `LeaseLost` at the end where another worker took
        the turn after it had lapsed.
        """
        turn = await run_async(self.claim_steps(message_id, correlation_id, payload_hash))
        try:
            yield turn
        except BaseException:
            await run_async(self.release_steps(turn))
            raise
        await run_async(self.seal_steps(turn))

    async def renew(self, turn: Turn) -> None:
        """The turn lasts `claim_seconds` from now; raises `LeaseLost`."""
        await run_async(self.renew_steps(turn))

    async def prune(self) -> int:
        """Remove what is older than `keep_seconds`; how many. To be called once a day where no rule does it."""
        return await run_async(self.prune_steps())
