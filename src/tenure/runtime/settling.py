"""Settling: verdicts collect in an outbox; a flusher seals and settles whatever is there, in one call each.

As soon as one flush returned the next begins, so batches grow with the load by themselves. A lost lease
settles nothing. While broker or ledger are away verdicts stay in the outbox and their leases with the
heartbeat; the store's fence decides when it is back.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from tenure.broker import Broker, Refused
from tenure.claim import Seal
from tenure.claim_check import ClaimCheck, send
from tenure.clock import Clock
from tenure.errors import BrokerUnavailable, QueueGone, StoreReplaced
from tenure.lease import Lease
from tenure.message import Outgoing
from tenure.plural import plural
from tenure.refusal import of_hand_off
from tenure.runtime.backoff import Backoff
from tenure.runtime.delivery import Delivery
from tenure.runtime.heartbeat import Heartbeat
from tenure.runtime.strangers import UNKNOWN_TASK
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.state import Ledger
from tenure.verdict import Completed, Dead, Duplicate, Lost, Reason, Retried, Returned, Snoozed, Verdict

logger = logging.getLogger("tenure.settling")

#: Reasons of a give-back that stay in the message's history: people must mend them, or they are counted there. The
#: others are the worker's own affairs.
_TOLD_REASONS = frozenset({UNKNOWN_TASK, "body_unreachable", "child_failed", "configuration"})

#: What is only deleted. A tuple is looked at faster than a union of types.
_DONE = (Completed, Duplicate)
_DELETED = Outcome.DELETED

#: What `report` is told: the delivery, its verdict, and how the settle ended (None: nothing was settled).
Report = Callable[[Sequence[tuple[Delivery, Settlement | None]]], None]


class Outbox:
    """Verdicts on their way to the broker."""

    def __init__(
        self, broker: Broker, ledger: Ledger, heartbeat: Heartbeat, clock: Clock, report: Report,
        claim_check: ClaimCheck | None = None, *,
        look_why: Callable[[Sequence[Delivery]], Awaitable[None]] | None = None,
    ) -> None:  # fmt: skip
        """Settle with `broker`, seal with `ledger`, tell `report`; what a queue finds too large goes by claim check.

        `look_why` is asked why nothing was settled, before `report` is told.
        """
        self._broker = broker
        self._ledger = ledger
        self._heartbeat = heartbeat
        self._report = report
        self._claim_check = claim_check
        self._look_why = look_why
        self._backoff = Backoff(clock)
        self._waiting: list[Delivery] = []
        self._wake = asyncio.Event()

    def put(self, delivery: Delivery, verdict: Verdict) -> None:
        """Settle this at the next flush."""
        delivery.verdict = verdict
        self._waiting.append(delivery)
        self._wake.set()

    async def run(self) -> None:
        """Flush whatever is there, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            batch, self._waiting = self._waiting, []
            await self._flush(batch)

    async def _flush(self, batch: list[Delivery]) -> None:
        limit = self._broker.traits.batch_limit
        for start in range(0, len(batch), limit):
            await self._flush_until_done(batch[start : start + limit])

    async def _flush_until_done(self, batch: list[Delivery]) -> None:
        settlements: dict[Delivery, Settlement] = {}
        unanswered: set[Delivery] = set()
        open_ = batch
        while True:
            leases = await self._heartbeat.hand_over(open_)
            mine = [pair for pair in zip(open_, leases, strict=True) if not _is_lost(pair[0])]
            try:
                await self._settle(await self._seal(mine), settlements)
            except BrokerUnavailable as error:
                mine = [pair for pair in mine if pair[0] not in settlements and not _is_lost(pair[0])]
                self._backoff.failed(logger, f"settling {plural(len(mine), 'message')}", error)
                open_ = self._hold_again(mine)
                unanswered.update(open_ if error.outcome_unknown else ())
                await self._backoff.pause()
                continue
            except StoreReplaced:
                raise  # of no message's making: one at a time would fail as well
            except Exception as error:
                mine = [pair for pair in mine if pair[0] not in settlements and not _is_lost(pair[0])]
                if _is_done(mine):
                    open_ = self._leave(mine, error, settlements)
                    continue
                if not self._part(mine, error):
                    raise
                open_ = self._hold_again(mine[:1])
                rest = self._hold_again(mine[1:])
                for delivery in rest:
                    await self._flush_until_done([delivery])
                batch = [delivery for delivery in batch if delivery not in rest]
                continue
            self._backoff.succeeded(logger, "settling")
            for delivery in unanswered & settlements.keys():
                settlements[delivery] = _as_far_as_known(delivery, settlements[delivery])
            await self._tell([(delivery, settlements.get(delivery) or _unsettled(delivery)) for delivery in batch])
            return

    async def _tell(self, settled: list[tuple[Delivery, Settlement | None]]) -> None:
        """Report; of what was not settled, first find out whether somebody cancelled it."""
        refused = [
            delivery
            for delivery, settlement in settled
            if (settlement is None or settlement.outcome is not _DELETED)
            and not delivery.sealed and _is_refused(settlement)
        ]  # fmt: skip
        if refused and self._look_why is not None:
            await self._look_why(refused)
        self._report(settled)

    def _part(self, mine: list[tuple[Delivery, Lease]], error: Exception) -> bool:
        """One entry spoils the batch, and it is no outage: settle singly, and put aside what cannot be settled at all.

        Otherwise one message would end every worker that gets it. False: even that was tried in vain.
        """
        if len(mine) != 1:
            many = plural(len(mine), "message")
            logger.error("batch settle of %s failed (%r); retrying one at a time", many, error)
            return bool(mine)
        delivery, _ = mine[0]
        if isinstance(delivery.verdict, Dead) and delivery.verdict.reason.code == "unsettleable":
            return False
        text = f"what its run left behind cannot be stored: {type(error).__name__}: {error}"
        delivery.verdict = Dead(Reason("unsettleable", text), counted=True)
        return True

    def _leave(
        self, mine: list[tuple[Delivery, Lease]], error: Exception, settlements: dict[Delivery, Settlement]
    ) -> list[Delivery]:
        """It is done, and that cannot be said to its broker: leave it there. It comes back, and is known as done."""
        for delivery, _ in mine:
            logger.error("%s is completed, but could not be settled: %r; it is tried again later", delivery.id, error)
            settlements[delivery] = Settlement(Outcome.UNKNOWN)
        return []

    def _hold_again(self, pairs: list[tuple[Delivery, Lease]]) -> list[Delivery]:
        """Leases must not lapse because of our trouble with one of the stores: keep beating, from the latest one."""
        for delivery, lease in pairs:
            delivery.lease = lease
        deliveries = [delivery for delivery, _ in pairs]
        self._heartbeat.hold(deliveries)
        return deliveries

    # -- seal --------------------------------------------------------------------------------------

    async def _seal(self, pairs: list[tuple[Delivery, Lease]]) -> list[tuple[Delivery, Lease]]:
        """Ledger first, broker second.

        If we die between the two the message comes back, the ledger answers DONE, and it is only deleted.
        The other order would do the work twice. Whoever's claim is gone settles nothing.
        """
        claimed = [delivery for delivery, _ in pairs if delivery.token is not None]
        if not claimed:
            return pairs
        done = [delivery for delivery in claimed if isinstance(delivery.verdict, Completed)]
        open_ = [delivery for delivery in claimed if not isinstance(delivery.verdict, Completed)]
        if done:
            for delivery, ok in zip(done, await self._ledger.seal(list(map(_seal_of, done))), strict=True):
                delivery.lease_lost, delivery.sealed, delivery.token = not ok, ok, None
        if open_:
            await self._release(open_)
        return [pair for pair in pairs if not pair[0].lease_lost]

    async def _release(self, deliveries: list[Delivery]) -> None:
        """Release the claim, then nack; the key of a dead message is free again."""
        freed = await self._ledger.release([d.token for d in deliveries if d.token is not None])
        mine = [delivery for delivery, ok in zip(deliveries, freed, strict=True) if ok]
        dead = [d.token.scope for d in mine if d.token is not None and isinstance(d.verdict, Dead)]
        # Where lease and claim are one store, its `dead_letter` frees the key, and only if the lease stands.
        if dead and not self._broker.traits.settles_exactly_once:
            await self._ledger.forget(dead)
        # Only now: until here everything is repeated after an outage, and from here on nothing of it.
        for delivery, ok in zip(deliveries, freed, strict=True):
            delivery.lease_lost, delivery.token = not ok, None

    # -- settle ------------------------------------------------------------------------------------

    async def _settle(self, pairs: list[tuple[Delivery, Lease]], settlements: dict[Delivery, Settlement]) -> None:
        """One call for each kind of verdict, all at once; what was settled is kept even if another call fails."""
        acks: list[tuple[Delivery, Ack]] = []
        nacks: list[tuple[Delivery, Nack]] = []
        backs: list[tuple[Delivery, GiveBack]] = []
        deads: list[tuple[Delivery, DeadLetter]] = []
        for delivery, lease in pairs:
            verdict = delivery.verdict
            if isinstance(verdict, _DONE):  # nearly all of them: a pattern takes longer to match
                routed = delivery.message if delivery.is_routed else None
                acks.append((delivery, Ack(lease, verdict.result, verdict.handoffs, delivery.seconds, routed)))
                continue
            match verdict:
                case Retried(after, reason):
                    nacks.append((delivery, Nack(lease, after, reason)))
                case Snoozed(after, reason):
                    backs.append((delivery, GiveBack(lease, after, reason)))
                case Returned(after, reason):
                    kept = reason if reason.code in _TOLD_REASONS else None
                    backs.append((delivery, GiveBack(lease, after, kept)))
                case Dead(reason, counted):
                    deads.append((delivery, DeadLetter(lease, reason, counted)))
        if not self._broker.traits.settles_exactly_once:
            await self._send_handoffs(acks)
        broker = self._broker
        calls = [
            _each(call, entries, settlements)
            for call, entries in (
                (broker.ack, acks), (broker.nack, nacks), (broker.give_back, backs), (broker.dead_letter, deads)
            )
            if entries
        ]  # fmt: skip
        if len(calls) == 1:
            await calls[0]
            return
        failures = [answer for answer in await asyncio.gather(*calls, return_exceptions=True) if answer is not None]
        if failures:
            raise max(failures, key=_gravity)

    async def _send_handoffs(self, acks: list[tuple[Delivery, Ack]]) -> None:
        """After the seal, before the ack: a crash in between repeats it, and the ids make one copy of each."""
        handoffs = [handoff for _, ack in acks for handoff in ack.handoffs]
        limit = self._broker.traits.batch_limit
        for start in range(0, len(handoffs), limit):
            await self._hand_on(handoffs[start : start + limit])

    async def _hand_on(self, handoffs: Sequence[Outgoing], *, again: bool = True) -> None:
        """Send hand-offs. What cannot be sent is put aside with its reason: its parent is done, and nobody is told.

        An outage of the broker is raised: it is tried again. A queue that is missing is none, because everything else
        that this worker settles would wait for it.
        """
        try:
            answers = await send(self._broker, self._claim_check, handoffs)
        except Exception as error:
            if isinstance(error, BrokerUnavailable) and not isinstance(error, QueueGone):
                raise
            if len(handoffs) > 1:
                for one in handoffs:
                    await self._hand_on([one])
                return
            if isinstance(error, QueueGone) and again:  # perhaps it is made again, now that it is known to be gone
                await self._hand_on(handoffs, again=False)
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
            logger.error("a hand-off was put with the dead letters of %s: %s", put.message.queue, put.reason.text)


async def _each(
    call: Any,
    entries: list[tuple[Delivery, Any]],
    settlements: dict[Delivery, Settlement],
) -> None:
    answers: list[Settlement] = await call([entry for _, entry in entries])
    for (delivery, _), answer in zip(entries, answers, strict=True):
        settlements[delivery] = answer


def _unsettled(delivery: Delivery) -> Settlement | None:
    """Nothing was settled. What is sealed is done all the same, and only its delete is open."""
    return Settlement(Outcome.UNKNOWN) if delivery.sealed else None


def _is_refused(settlement: Settlement | None) -> bool:
    """Whether the store says that the message was not ours any more."""
    return settlement is None or not (settlement.took_effect or settlement.outcome is Outcome.UNKNOWN)


def _is_done(mine: list[tuple[Delivery, Lease]]) -> bool:
    """Whether a single message is left, and the ledger has it as done: whatever fails now, it is no dead letter."""
    return len(mine) == 1 and (mine[0][0].sealed or isinstance(mine[0][0].verdict, Duplicate))


def _is_lost(delivery: Delivery) -> bool:
    return delivery.lease_lost or isinstance(delivery.verdict, Lost)


def _gravity(failure: BaseException) -> int:
    """Which of several failures decides how to go on."""
    if not isinstance(failure, BrokerUnavailable):
        return 2
    return 1 if failure.outcome_unknown else 0


def _as_far_as_known(delivery: Delivery, settlement: Settlement) -> Settlement:
    """After a settle that got no answer, "too late" may mean that the first one was in time.

    What is sealed and gone is as it should be, whichever of the two it was.
    """
    if settlement.took_effect or (delivery.sealed and settlement.outcome is Outcome.ALREADY_GONE):
        return settlement
    return msgspec.structs.replace(settlement, outcome=Outcome.UNKNOWN)


def _seal_of(delivery: Delivery) -> Seal:
    verdict, token = delivery.verdict, delivery.token
    if token is None or not isinstance(verdict, Completed):
        msg = "only a completed, claimed message can be sealed"
        raise RuntimeError(msg)
    return Seal(token, verdict.result, verdict.handoffs)
