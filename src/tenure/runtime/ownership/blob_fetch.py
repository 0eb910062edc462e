"""Fetches bodies from the blob store: the consumer's side of the claim check.

    before the work   the body is fetched after the claim. A worker fetches it in the message's own task, only when the
                      message may start, so a large body delays no other message and does not wait in memory
    after the work    hand-offs that are too large go to the blob store, before the seal
    after the ack     the body is discarded; the body of a dead letter stays, for a redrive

While the blob store is away a message waits and uses no attempt. Called through `ownership.py`; in a worker also by
`path/handling.py` and `path/reporting.py`.
"""

import asyncio
import logging
from collections.abc import Sequence

from tenure.broker import BrokerTraits
from tenure.client.claim_check import BodyDamaged, BodyGone, ClaimCheck
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, TenureError
from tenure.message import Message
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.ownership.owned import Owned
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Completed, Dead, Reason, Returned

logger = logging.getLogger("tenure.fetching")

#: How long a message waits whose body could not be fetched: the blob store is away, or people must fix something.
AWAY_SECONDS = 5.0
FIX_SECONDS = 60.0


class BlobFetch:
    """Fetches bodies, and discards them after the ack."""

    def __init__(self, check: ClaimCheck | None, traits: BrokerTraits | None, clock: Clock) -> None:
        """Fetch with `check`; without one, messages with tickets are for other consumers. `traits`: the broker's."""
        self.check = check
        #: None: nothing that is handed on gets a ticket.
        self._limit = traits.body_limit if traits is not None and traits.takes_tickets else None
        self._clock = clock
        self._trouble = OutageBackoff(clock)
        self._done: list[Message] = []
        self._wake = asyncio.Event()

    async def open(self) -> None:
        """Check the blob store now, not at the first large message."""
        if self.check is not None:
            try:
                await self.check.open()
            except BrokerUnavailable as error:
                logger.warning("messages with large bodies must wait: %s", error)

    async def bring(self, owned: Owned) -> Dead | Returned | None:  # noqa: PLR0911 - a table
        """Fetch the body, if it is in the blob store. None: `owned.whole` has it. A verdict: it cannot be fetched."""
        check, message = self.check, owned.message
        if message is None or message.ticket is None:
            return None
        if check is None:
            where = message.ticket.place
            text = f"its body is stored at {where}, and this worker has no claim_check; set it (TENURE_CLAIM_CHECK)"
            return self._until_fixed(owned, text)
        try:
            owned.fetched = await check.fetch(message)
        except BodyDamaged as error:
            return Dead(Reason("body_damaged", f"{error}; restore it there and redrive"))
        except BodyGone as error:
            if error.elsewhere:  # this worker looks at the wrong place, as it seems: another one may know better
                return self._until_fixed(owned, f"{error}; give all workers and senders the same claim_check")
            return Dead(Reason("body_missing", f"{error}; restore it there and redrive, or send the message again"))
        except BrokerUnavailable as error:
            self._trouble.failed(logger, "fetching large bodies", error)
            return Returned(AWAY_SECONDS, Reason("cloakroom_unavailable", f"its body cannot be fetched: {error}"))
        except TenureError as error:
            return self._until_fixed(owned, f"its body cannot be fetched: {error}")
        self._trouble.succeeded(logger, "fetching large bodies")
        return None

    def _until_fixed(self, owned: Owned, text: str) -> Returned:
        logger.error("%s was returned to its queue: %s", owned.id, text)
        return Returned(FIX_SECONDS, Reason("body_unreachable", text))

    async def check_in(self, verdict: Completed) -> Completed:
        """Store the bodies of hand-offs that are too large, before the seal: a ledger does not take bodies of any size.

        The run is over and must not be repeated because a blob store is away, so this waits until it is back.
        """
        if self.check is None or self._limit is None or not verdict.handoffs:
            return verdict
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                handoffs = await self.check.check_in(verdict.handoffs, self._limit)
            except TenureError as error:
                backoff.failed(logger, "storing the bodies of hand-offs", error)
                await backoff.pause()
            else:
                backoff.succeeded(logger, "storing the bodies of hand-offs")
                return Completed(verdict.result, tuple(handoffs))

    # -- after the ack -----------------------------------------------------------------------------

    def settled(self, settled: Sequence[tuple[Owned, Settlement | None]]) -> None:
        """Discard soon the bodies of messages that are completed or gone."""
        if self.check is None:
            return
        for owned, settlement in settled:
            message = owned.message
            is_gone = settlement is not None and settlement.outcome is Outcome.DELETED
            if is_gone and message is not None and message.ticket is not None:
                self._done.append(message)
                self._wake.set()

    async def run(self) -> None:
        """Discard finished bodies until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()

    async def flush(self) -> None:
        """Discard now what is waiting. `background/blob_gc.py` finds later what could not be discarded."""
        done, self._done = self._done, []
        if done and self.check is not None:
            await self.check.discard(done)
