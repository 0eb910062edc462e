"""Settling: what clients say of their messages is carried out, each for itself, with one outcome for each.

Sealed first, settled second, by `runtime/ownership` as for a worker. Nothing here is tried again for long: while the
store is away the client gets that answer, keeps its lease, and asks again.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec

from tenure.app import Tenure
from tenure.errors import BrokerError, BrokerUnavailable, TenureError
from tenure.message import MessageState
from tenure.runtime.ownership import Concluded, Ownership
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.leased_here import LeasedHere
from tenure.server.consumers.lookup import Lookup
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.server.consumers.reporting import Reporting
from tenure.settlement import Outcome, Settlement
from tenure.verdict import Verdict


class SettleOutcome(StrEnum):
    """How a settle over HTTP ended."""

    #: Done: deleted for good, with its result.
    DELETED = "deleted"
    #: Back in its queue.
    RETURNED = "returned"
    #: With the dead letters.
    DEAD = "dead"
    #: Nothing was changed: the lease has ended, and no other consumer has the message now.
    ALREADY_GONE = "already_gone"
    #: Nothing was changed: another consumer has the message.
    TAKEN_OVER = "taken_over"
    #: Nothing was changed: the message was cancelled.
    CANCELLED = "cancelled"
    #: No reliable answer; the next lease of the message shows it.
    UNKNOWN = "unknown"
    #: The store did not take it for now: say it again.
    FAILED = "failed"
    #: It cannot be carried out as it is: `code` and `detail` say why.
    REFUSED = "refused"


class SettleAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one entry."""

    outcome: SettleOutcome
    #: Why it failed or was refused.
    error: TenureError | None = None


_OUTCOMES = {outcome: SettleAnswer(outcome=SettleOutcome(outcome.value)) for outcome in Outcome}
GONE = SettleAnswer(outcome=SettleOutcome.ALREADY_GONE)

Judge = Callable[[RemoteDelivery], Verdict]
#: What became of one. None: nothing was settled, because its claim is lost. An answer: it is open.
Ending = Settlement | SettleAnswer | None


class Settling:
    """The settles of one process."""

    def __init__(
        self, app: Tenure, ownership: Ownership, here: LeasedHere, lookup: Lookup, reporting: Reporting
    ) -> None:
        """Settle with `ownership`, and report what became of it."""
        self._app = app
        self._ownership = ownership
        self._here = here
        self._lookup = lookup
        self._reporting = reporting

    async def settle(self, asked: Sequence[tuple[LeaseName, Judge]]) -> list[SettleAnswer]:
        """One answer for each entry, in order. `Judge` makes the verdict of the lease that was found."""
        answers: dict[int, SettleAnswer] = {}
        batch: dict[RemoteDelivery, int] = {}
        found = await self._lookup.find([name for name, _ in asked])
        for place, ((_, judge), delivery) in enumerate(zip(asked, found, strict=True)):
            if isinstance(delivery, BrokerError):
                answers[place] = SettleAnswer(outcome=SettleOutcome.FAILED, error=delivery)
            elif delivery is None:
                answers[place] = GONE
            elif delivery not in batch:  # else it is named twice: the first entry counts
                delivery.conclude(judge(delivery), self._app.clock.monotonic())
                batch[delivery] = place
        settled = await self._settle_all(list(batch))
        self._reporting.report(_closed(settled))
        for one, answer in settled.items():
            answers[batch[one]] = _answer_of(one, answer)
        told = [answers.get(place, GONE) for place in range(len(asked))]
        return [
            await self._told(name, answer) if answer.outcome in _LATE else answer
            for (name, _), answer in zip(asked, told, strict=True)
        ]

    async def settle_here(self, batch: Sequence[tuple[RemoteDelivery, Verdict]]) -> None:
        """Settle what no client gets. Raises nothing: what cannot be settled lapses."""
        for one, verdict in batch:
            one.conclude(verdict, self._app.clock.monotonic())
        settled = await self._settle_all([one for one, _ in batch])
        self._reporting.report(_closed(settled), is_by_client=False)

    async def _settle_all(self, deliveries: Sequence[RemoteDelivery]) -> dict[RemoteDelivery, Ending]:
        found: dict[RemoteDelivery, Settlement | SettleAnswer | None] = {}
        limit = self._app.broker.traits.batch_limit
        for start in range(0, len(deliveries), limit):
            await self._settle_some(list(map(_concluded, deliveries[start : start + limit])), found)
        for one, answer in found.items():
            if not isinstance(answer, SettleAnswer):
                self._here.drop((one.lease.id, one.lease.fence))
        return found

    async def _settle_some(
        self,
        batch: list[Concluded[RemoteDelivery]],
        found: dict[RemoteDelivery, Ending],
    ) -> None:
        """Settle together; where one of them spoils the batch, each alone."""
        settled = await self._ownership.settle(batch)
        found.update(settled.settlements)
        if settled.outage is not None:
            for one in settled.open:
                # The client says it again: what was sealed by then is known, and an answer of "too late" is no proof.
                one.owned.is_repeated = one.owned.is_repeated or one.is_repeated
                found[one.owned] = SettleAnswer(outcome=SettleOutcome.FAILED, error=settled.outage)
            return
        for one in settled.open:
            await self._settle_some([one], found)

    async def _told(self, name: LeaseName, answer: SettleAnswer) -> SettleAnswer:
        """Look why a lease has ended."""
        try:
            record = await self._lookup.record(name)
        except BrokerUnavailable:
            return answer
        if record is None:
            return GONE
        if record.state is MessageState.CANCELLED:
            return SettleAnswer(outcome=SettleOutcome.CANCELLED)
        if record.state is MessageState.LEASED and (record.owner, record.fence) != (name.owner, name.fence):
            return SettleAnswer(outcome=SettleOutcome.TAKEN_OVER)
        return GONE


_LATE = (SettleOutcome.ALREADY_GONE, SettleOutcome.TAKEN_OVER)


def _concluded(one: RemoteDelivery) -> Concluded[RemoteDelivery]:
    if one.verdict is None:
        msg = "only a concluded delivery can be settled"
        raise RuntimeError(msg)
    return Concluded(one, one.lease, one.verdict, one.seconds, one.is_repeated)


def _closed(settled: Mapping[RemoteDelivery, Ending]) -> list[tuple[RemoteDelivery, Settlement | None]]:
    """Those that the store answered for."""
    return [(one, answer) for one, answer in settled.items() if not isinstance(answer, SettleAnswer)]


def _answer_of(one: RemoteDelivery, settlement: Ending) -> SettleAnswer:
    """None: nothing was settled, because the claim is lost. What is sealed is done, however its delete ended."""
    if isinstance(settlement, SettleAnswer):
        return settlement
    if one.sealed:
        return _OUTCOMES[Outcome.DELETED]
    return GONE if settlement is None else _OUTCOMES[settlement.outcome]
