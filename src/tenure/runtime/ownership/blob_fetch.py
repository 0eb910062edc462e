"""Fetching: the worker's side of the claim check, for bodies that lie in a cloakroom.

    before the run    claimed and held, its body is fetched: by the message's own task, so nobody waits for a large
                      one, and only when it is its turn, so that nothing large waits in memory
    after the run     what it hands on and is too large goes to the cloakroom first, before the seal
    after the ack     the body is discarded; that of a dead letter stays, for a redrive

A cloakroom that is away costs a message time, and no attempt. Used by `handling.py` and `path.py`.
"""

import asyncio
import logging
from collections.abc import Sequence

from tenure.broker import BrokerTraits
from tenure.claim_check import BodyDamaged, BodyGone, ClaimCheck
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, TenureError
from tenure.message import Message
from tenure.runtime.backoff import Backoff
from tenure.runtime.delivery import Delivery
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Completed, Dead, Reason, Returned

logger = logging.getLogger("tenure.fetching")

#: How long a message waits whose body could not be fetched: the cloakroom is away, or people must mend something.
AWAY_SECONDS = 5.0
MEND_SECONDS = 60.0


class Fetching:
    """Brings bodies, and takes them away again."""

    def __init__(self, check: ClaimCheck | None, traits: BrokerTraits | None, clock: Clock) -> None:
        """Without a claim check, messages with tickets are for other workers. `traits` say what the broker takes."""
        self.check = check
        #: None: nothing that is handed on gets a ticket.
        self._limit = traits.body_limit if traits is not None and traits.takes_tickets else None
        self._clock = clock
        self._trouble = Backoff(clock)
        self._done: list[Message] = []
        self._wake = asyncio.Event()

    async def open(self) -> None:
        """Find out now, rather than at the first large message, whether the cloakroom is set up as it should be."""
        if self.check is not None:
            try:
                await self.check.open()
            except BrokerUnavailable as error:
                logger.warning("messages with large bodies must wait: %s", error)

    async def bring(self, delivery: Delivery, message: Message) -> Dead | Returned | None:  # noqa: PLR0911 - a table
        """Put the body into the message. None: it can run."""
        check = self.check
        if check is None:
            where = message.ticket.place if message.ticket is not None else "nowhere"
            text = f"its body lies at {where}, and this worker has no claim_check; set it (TENURE_CLAIM_CHECK)"
            return self._mend(delivery, text)
        try:
            whole = await check.fetch(message)
        except BodyDamaged as error:
            return Dead(Reason("body_damaged", f"{error}; restore it there and redrive"))
        except BodyGone as error:
            if error.elsewhere:  # this worker looks at the wrong place, as it seems: another one may know better
                return self._mend(delivery, f"{error}; give all workers and senders the same claim_check")
            return Dead(Reason("body_missing", f"{error}; restore it there and redrive, or send the message anew"))
        except BrokerUnavailable as error:
            self._trouble.failed(logger, "fetching large bodies", error)
            return Returned(AWAY_SECONDS, Reason("cloakroom_unavailable", f"its body cannot be fetched: {error}"))
        except TenureError as error:
            return self._mend(delivery, f"its body cannot be fetched: {error}")
        self._trouble.succeeded(logger, "fetching large bodies")
        delivery.checked, delivery.message = message, whole
        delivery.started = self._clock.monotonic()  # the handler has not had this time
        return None

    def _mend(self, delivery: Delivery, text: str) -> Returned:
        logger.error("%s is given back: %s", delivery.id, text)
        return Returned(MEND_SECONDS, Reason("body_unreachable", text))

    async def check_in(self, verdict: Completed) -> Completed:
        """Leave what was handed on and is too large, before it is sealed: no ledger takes a body of any size.

        The run is over, and must not be repeated because a cloakroom is away: this waits until it is back.
        """
        if self.check is None or self._limit is None or not verdict.handoffs:
            return verdict
        backoff = Backoff(self._clock)
        while True:
            try:
                handoffs = await self.check.check_in(verdict.handoffs, self._limit)
            except TenureError as error:
                backoff.failed(logger, "leaving what was handed on", error)
                await backoff.pause()
            else:
                backoff.succeeded(logger, "leaving what was handed on")
                return Completed(verdict.result, tuple(handoffs))

    # -- after the ack -----------------------------------------------------------------------------

    def settled(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        """Bodies of messages that are gone for good are discarded soon."""
        if self.check is None:
            return
        for delivery, settlement in settled:
            message = delivery.checked or delivery.message
            is_gone = settlement is not None and settlement.outcome is Outcome.DELETED
            if is_gone and message is not None and message.ticket is not None:
                self._done.append(message)
                self._wake.set()

    async def run(self) -> None:
        """Discard whatever is there, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()

    async def flush(self) -> None:
        """Discard what is there. What could not be is found later (`tidying.py`)."""
        done, self._done = self._done, []
        if done and self.check is not None:
            await self.check.discard(done)
