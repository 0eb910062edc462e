"""The outbox: collects verdicts, and settles all of them in one call.

The next flush starts as soon as the last one returned, so batches grow with the load. The heartbeat hands over the
latest leases first. While the broker or the ledger is away, verdicts stay here and their leases stay with the
heartbeat; the store's fence decides when it is back. Before: `handling.py`. After: `reporting.py`. Sealing and
settling: `ownership/`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from tenure.clock import Clock
from tenure.lease import Lease
from tenure.monitoring.metrics.sample import Times
from tenure.runtime.background.heartbeat import Heartbeat
from tenure.runtime.delivery import Delivery
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.ownership.owned import Concluded, Settled
from tenure.runtime.ownership.ownership import Ownership
from tenure.runtime.path.stages import ReportingStage
from tenure.settlement import Outcome, Settlement
from tenure.text.plural import plural
from tenure.verdict import Lost, Verdict

logger = logging.getLogger("tenure.settling")

_DELETED = Outcome.DELETED
_LOST = Lost()


class Outbox:
    """Verdicts that wait to be settled."""

    def __init__(
        self,
        ownership: Ownership,
        heartbeat: Heartbeat,
        clock: Clock,
        reporting: ReportingStage,
        *,
        batch_limit: int,
        look_why: Callable[[Sequence[Delivery]], Awaitable[None]] | None = None,
    ) -> None:
        """Settle at most `batch_limit` at once. `look_why` finds out why nothing was settled, before it is reported."""
        self._clock = clock
        #: How long each settle of a batch took.
        self.times = Times()
        self._ownership = ownership
        self._heartbeat = heartbeat
        self._reporting = reporting
        self._batch_limit = batch_limit
        self._look_why = look_why
        self._backoff = OutageBackoff(clock)
        self._waiting: list[Delivery] = []
        self._wake = asyncio.Event()

    def put(self, delivery: Delivery, verdict: Verdict) -> None:
        """Settle this at the next flush."""
        delivery.verdict = verdict
        self._waiting.append(delivery)
        self._wake.set()

    async def run(self) -> None:
        """Flush until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            for start in range(0, len(batch), self._batch_limit):
                await self._flush(batch[start : start + self._batch_limit])

    async def _flush(self, batch: list[Delivery]) -> None:
        """Settle all of them, however long it takes, and report them together."""
        settlements: dict[Delivery, Settlement | None] = {}
        repeated: set[Delivery] = set()
        open_ = batch
        while open_:
            leases = await self._heartbeat.hand_over(open_)
            began = self._clock.monotonic()
            settled = await self._ownership.settle(
                [
                    Concluded(
                        one, lease, _LOST if one.lease_lost else one.verdict or _LOST, one.seconds, one in repeated
                    )
                    for one, lease in zip(open_, leases, strict=True)
                ]
            )
            self.times.note(self._clock.monotonic() - began)
            settlements |= settled.settlements
            open_ = self._keep(settled, repeated)
            if settled.outage is not None:
                self._backoff.failed(logger, f"settling {plural(len(open_), 'message')}", settled.outage)
                await self._backoff.pause()
            elif open_:
                for one in open_[1:]:
                    await self._flush([one])
                batch = [one for one in batch if one not in open_[1:]]
                open_ = open_[:1]
        self._backoff.succeeded(logger, "settling")
        await self._report([(delivery, settlements[delivery]) for delivery in batch])

    def _keep(self, settled: Settled[Delivery], repeated: set[Delivery]) -> list[Delivery]:
        """Keep renewing, from the latest lease: leases must not end because one of the stores is away."""
        kept: list[Delivery] = []
        leases: list[Lease] = []
        for one in settled.open:
            one.owned.verdict = one.verdict
            if one.is_repeated:
                repeated.add(one.owned)
            kept.append(one.owned)
            leases.append(one.lease)
        if kept:
            self._heartbeat.hold(kept, leases)
        return kept

    async def _report(self, settled: list[tuple[Delivery, Settlement | None]]) -> None:
        """Report. For messages that were not settled, first find out whether they were cancelled."""
        refused = [
            delivery
            for delivery, settlement in settled
            if (settlement is None or settlement.outcome is not _DELETED)
            and not delivery.sealed
            and _is_refused(settlement)
        ]
        if refused and self._look_why is not None:
            await self._look_why(refused)
        self._reporting.report(settled)


def _is_refused(settlement: Settlement | None) -> bool:
    """Whether the store answered that the message was no longer ours."""
    return settlement is None or not (settlement.took_effect or settlement.outcome is Outcome.UNKNOWN)
