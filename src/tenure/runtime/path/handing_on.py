"""Handing on: what hand-offs need between the end of the handler and the seal.

Their webhooks are looked up as `submit` does it, so that a misspelt endpoint fails the run, and is not found out when
the message that was handed on has ended. Bodies that are too large are stored. The run is over and must not be repeated
because a store is away, so both wait until it is back. Before: `handling.py`. After: `outbox.py`.
"""

import logging
from collections.abc import Awaitable, Callable

from tenure.clock import Clock
from tenure.errors import BrokerUnavailable
from tenure.message import Outgoing
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.verdict import Completed

logger = logging.getLogger("tenure.handling")

#: A message with the endpoint of each of its webhooks. Raises `WebhookRefused`.
Resolve = Callable[[Outgoing], Awaitable[Outgoing]]


class HandingOn:
    """Makes hand-offs ready to be sent."""

    def __init__(self, bodies: BlobFetch, clock: Clock, resolve: Resolve | None = None) -> None:
        """Without `resolve` webhooks are looked up when the messages end."""
        self._bodies = bodies
        self._clock = clock
        self._resolve = resolve

    async def prepare(self, verdict: Completed) -> Completed:
        """The verdict with what is sent. Raises `WebhookRefused`: then nothing is handed on."""
        if self._resolve is not None and any(map(_asks, verdict.handoffs)):
            verdict = Completed(verdict.result, tuple([await self._resolved(out) for out in verdict.handoffs]))
        return await self._bodies.check_in(verdict)

    async def _resolved(self, out: Outgoing) -> Outgoing:
        if self._resolve is None or not _asks(out):
            return out
        backoff = OutageBackoff(self._clock)
        while True:
            try:
                found = await self._resolve(out)
            except BrokerUnavailable as error:
                backoff.failed(logger, "looking up the webhooks of hand-offs", error)
                await backoff.pause()
            else:
                backoff.succeeded(logger, "looking up the webhooks of hand-offs")
                return found


def _asks(out: Outgoing) -> bool:
    return bool(out.message.announce)
