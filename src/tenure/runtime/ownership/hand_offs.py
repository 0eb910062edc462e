"""Sends hand-offs where the broker does not send them with the ack: after the seal, before the ack.

A hand-off that cannot be sent becomes a dead letter with its reason, because its parent is done and its handler has
ended. Used by `settler.py`.
"""

import logging
from collections.abc import Sequence

from tenure.broker import Broker, Refused
from tenure.client.claim_check import ClaimCheck, send
from tenure.errors import BrokerUnavailable, QueueGone
from tenure.message import Outgoing
from tenure.rules.rejections import of_hand_off

logger = logging.getLogger("tenure.settling")


class HandOffs:
    """Sends the messages that handlers handed on."""

    def __init__(self, broker: Broker, claim_check: ClaimCheck | None) -> None:
        """Bodies that a queue finds too large go by `claim_check`."""
        self._broker = broker
        self._claim_check = claim_check

    async def send(self, handoffs: Sequence[Outgoing]) -> None:
        """Send them, or make dead letters of them. Raises the outage of a broker; the caller tries again."""
        limit = self._broker.traits.batch_limit
        for start in range(0, len(handoffs), limit):
            await self._send(handoffs[start : start + limit])

    async def _send(self, handoffs: Sequence[Outgoing], *, again: bool = True) -> None:
        """Send to one queue. A missing queue is not treated as an outage: everything settled with it would wait."""
        try:
            answers = await send(self._broker, self._claim_check, handoffs)
        except Exception as error:
            if isinstance(error, BrokerUnavailable) and not isinstance(error, QueueGone):
                raise
            if len(handoffs) > 1:
                for one in handoffs:
                    await self._send([one])
                return
            if isinstance(error, QueueGone) and again:  # perhaps it is made again, now that it is known to be gone
                await self._send(handoffs, again=False)
                return
            refused = [Refused(one.message, of_hand_off(one.message, error)) for one in handoffs]
        else:
            refused = [
                Refused(one.message, sent.refusal)
                for one, sent in zip(handoffs, answers, strict=True)
                if sent.refusal is not None
            ]
        if refused:
            await self._broker.put_aside(refused)
        for put in refused:
            logger.error("a hand-off was moved to the dead letters of %s: %s", put.message.queue, put.reason.text)
