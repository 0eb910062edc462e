"""Settling: seals in the ledger first, settles with the broker second, for a whole batch.

If the process dies between the two, the message comes back, the ledger answers DONE, and the message is only deleted.
The other order would do the work twice. A lost lease or claim settles nothing. What cannot be settled now is handed
back to the caller. Before: the caller's work and the latest lease of each message. After: the caller reports.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tenure.announcement import AnnounceRequest
from tenure.broker import Broker
from tenure.claim import Seal, Token
from tenure.client.claim_check import ClaimCheck
from tenure.errors import BrokerUnavailable, StoreReplaced
from tenure.runtime.ownership.hand_offs import HandOffs
from tenure.runtime.ownership.owned import UNKNOWN_TASK, Concluded, Mine, Settled
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack, Outcome, Settlement
from tenure.state import Ledger
from tenure.text.plural import plural
from tenure.verdict import Completed, Dead, Duplicate, Lost, Reason, Retried, Returned, Snoozed

logger = logging.getLogger("tenure.settling")

#: Reasons of a give-back that stay in the message's history: people must act on them, or they are counted there. The
#: others are our own affairs.
_KEPT_REASONS = frozenset({UNKNOWN_TASK, "body_unreachable", "child_failed", "configuration"})

#: Verdicts whose messages are only deleted. A tuple is checked faster than a union of types.
_DONE = (Completed, Duplicate)


class Settler:
    """Seals and settles."""

    def __init__(self, broker: Broker, ledger: Ledger, claim_check: ClaimCheck | None = None) -> None:
        """Settle with `broker`, seal with `ledger`; hand-offs that a queue finds too large go by `claim_check`."""
        self._broker = broker
        self._ledger = ledger
        self._hand_offs = HandOffs(broker, claim_check)

    async def settle(self, batch: Sequence[Concluded[Mine]]) -> Settled[Mine]:
        """As `Ownership.settle`."""
        found: dict[Mine, Settlement] = {}
        open_: list[Concluded[Mine]] = []
        outage: BrokerUnavailable | None = None
        try:
            mine = [one for one in batch if not one.owned.claim_lost and type(one.verdict) is not Lost]
            await self._settle(await self._seal(mine), found)
        except BrokerUnavailable as error:
            outage, open_ = error, _left(batch, found)
            if error.outcome_unknown:
                open_ = [msgspec.structs.replace(one, is_repeated=True) for one in open_]
        except StoreReplaced:
            raise  # of no message's making: one at a time would fail as well
        except Exception as error:  # noqa: BLE001 - raised again where it is of no message's making
            open_ = self._spoiled(_left(batch, found), error, found)
        return Settled(_told(batch, found, open_), open_, outage)

    def _spoiled(
        self, left: list[Concluded[Mine]], error: Exception, found: dict[Mine, Settlement]
    ) -> list[Concluded[Mine]]:
        """Retry a failed batch one at a time; a message that cannot be settled at all becomes a dead letter.

        Otherwise that message would end every worker that leases it. Raises `error` if the dead letter cannot be
        written either.
        """
        if len(left) > 1:
            logger.error("batch settle of %s failed (%r); retrying one at a time", plural(len(left), "message"), error)
        if len(left) != 1:
            if not left:
                raise error
            return left
        (one,) = left
        if _is_done(one):
            # It is done, and its broker cannot be told: leave it there. It comes back, and is known as done.
            logger.error("%s is completed, but could not be settled: %r; it will be retried", one.owned.id, error)
            found[one.owned] = Settlement(Outcome.UNKNOWN)
            return []
        if isinstance(one.verdict, Dead) and one.verdict.reason.code == "unsettleable":
            raise error
        text = f"the outcome of its run cannot be stored: {type(error).__name__}: {error}"
        return [msgspec.structs.replace(one, verdict=Dead(Reason("unsettleable", text), counted=True))]

    # -- seal --------------------------------------------------------------------------------------

    async def _seal(self, batch: list[Concluded[Mine]]) -> list[Concluded[Mine]]:
        """Seal or release claims; return those that may be settled. A message whose claim is lost is left out."""
        claimed = [one for one in batch if one.owned.token is not None and not one.owned.claim_ended]
        if not claimed:
            return batch
        done = [one for one in claimed if isinstance(one.verdict, Completed) and self._acked_claim(one) is None]
        others = [one for one in claimed if not isinstance(one.verdict, Completed)]
        if done:
            for one, ok in zip(done, await self._ledger.seal(list(map(_seal_of, done))), strict=True):
                one.owned.claim_lost, one.owned.sealed, one.owned.claim_ended = not ok, ok, True
        if others:
            await self._release(others)
        return [one for one in batch if not one.owned.claim_lost]

    def _acked_claim(self, one: Concluded[Mine]) -> Token | None:
        """The claim that ends with the ack, in one step, so that nothing is sealed before.

        None where an earlier ack got no answer: the seal tells whether that one was in time.
        """
        token = one.owned.token
        if not self._broker.traits.acks_claims or token is None or one.owned.claim_ended or one.is_repeated:
            return None
        return token if token.scope.queue == one.lease.queue else None

    async def _release(self, batch: list[Concluded[Mine]]) -> None:
        """Release the claim, then nack; the key of a dead message is free again."""
        freed = await self._ledger.release([one.owned.token for one in batch if one.owned.token is not None])
        mine = [one for one, ok in zip(batch, freed, strict=True) if ok]
        dead = [one.owned.token.scope for one in mine if one.owned.token is not None and isinstance(one.verdict, Dead)]
        # Where lease and claim are one store, its `dead_letter` frees the key, and only if the lease stands.
        if dead and not self._broker.traits.settles_exactly_once:
            await self._ledger.forget(dead)
        # Only now: until here everything is repeated after an outage, and from here on nothing of it.
        for one, ok in zip(batch, freed, strict=True):
            one.owned.claim_lost, one.owned.claim_ended = not ok, True

    # -- settle ------------------------------------------------------------------------------------

    async def _settle(self, batch: list[Concluded[Mine]], found: dict[Mine, Settlement]) -> None:
        """Settle by one call for each kind of verdict, all at once; keep answers even if another call fails."""
        acks: list[tuple[Mine, Ack]] = []
        nacks: list[tuple[Mine, Nack]] = []
        backs: list[tuple[Mine, GiveBack]] = []
        deads: list[tuple[Mine, DeadLetter]] = []
        for one in batch:
            owned, lease, verdict = one.owned, one.lease, one.verdict
            if isinstance(verdict, _DONE):  # nearly all of them: a pattern takes longer to match
                routed = owned.message if owned.is_routed else None
                is_duplicate = isinstance(verdict, Duplicate)
                claim = None if owned.token is None or is_duplicate else self._acked_claim(one)
                ack = Ack(lease, verdict.result, verdict.handoffs, one.seconds, routed, is_duplicate, claim)
                acks.append((owned, ack))
                continue
            match verdict:
                case Retried(after, reason):
                    nacks.append((owned, Nack(lease, after, reason)))
                case Snoozed(after, reason):
                    backs.append((owned, GiveBack(lease, after, reason)))
                case Returned(after, reason):
                    kept = reason if reason.code in _KEPT_REASONS else None
                    backs.append((owned, GiveBack(lease, after, kept)))
                case Dead(reason, counted):
                    deads.append((owned, DeadLetter(lease, reason, counted)))
        if not self._broker.traits.settles_exactly_once:
            # After the seal, before the ack: a crash in between repeats it, and the ids make one copy of each.
            await self._hand_offs.send([handoff for _, ack in acks for handoff in ack.handoffs])
        broker = self._broker
        calls: list[tuple[Any, list[Any]]] = [
            (broker.ack, acks), (broker.nack, nacks), (broker.give_back, backs), (broker.dead_letter, deads)
        ]  # fmt: skip
        await _all_of([_each(call, entries, found) for call, entries in calls if entries])


async def _all_of(calls: list[Any]) -> None:
    """Await all of them. Of several failures, raise the one that decides how to go on."""
    if len(calls) == 1:
        await calls[0]
        return
    failures = [answer for answer in await asyncio.gather(*calls, return_exceptions=True) if answer is not None]
    if failures:
        raise max(failures, key=_gravity)


async def _each(call: Any, entries: list[tuple[Mine, Any]], found: dict[Mine, Settlement]) -> None:
    answers: list[Settlement] = await call([entry for _, entry in entries])
    for (owned, _), answer in zip(entries, answers, strict=True):
        found[owned] = answer


def _gravity(failure: BaseException) -> int:
    if not isinstance(failure, BrokerUnavailable):
        return 2
    return 1 if failure.outcome_unknown else 0


def _is_lost(one: Concluded[Mine]) -> bool:
    return one.owned.claim_lost or isinstance(one.verdict, Lost)


def _is_done(one: Concluded[Mine]) -> bool:
    """Whether the ledger has it as done. It never becomes a dead letter then, whatever fails."""
    return one.owned.sealed or isinstance(one.verdict, Duplicate)


def _left(batch: Sequence[Concluded[Mine]], found: dict[Mine, Settlement]) -> list[Concluded[Mine]]:
    return [one for one in batch if one.owned not in found and not _is_lost(one)]


def _told(
    batch: Sequence[Concluded[Mine]], found: dict[Mine, Settlement], open_: list[Concluded[Mine]]
) -> Mapping[Mine, Settlement | None]:
    if len(found) == len(batch) and not [one for one in batch if one.is_repeated]:
        return found  # nearly always
    kept = {one.owned for one in open_}
    return {one.owned: _ended(one, found.get(one.owned)) for one in batch if one.owned not in kept}


def _ended(one: Concluded[Mine], settlement: Settlement | None) -> Settlement | None:
    """Return how it ended, as far as is known.

    A lost message was not settled. A sealed message is done, and only its delete may be open. If an earlier settle got
    no answer, "too late" may mean that the earlier one was in time. A sealed message that is gone is as it should be.
    """
    if settlement is None:
        return Settlement(Outcome.UNKNOWN) if one.owned.sealed else None
    if not one.is_repeated or settlement.took_effect:
        return settlement
    if one.owned.sealed and settlement.outcome is Outcome.ALREADY_GONE:
        return settlement
    return msgspec.structs.replace(settlement, outcome=Outcome.UNKNOWN)


def _seal_of(one: Concluded[Mine]) -> Seal:
    verdict, token = one.verdict, one.owned.token
    if token is None or not isinstance(verdict, Completed):
        msg = "only a completed, claimed message can be sealed"
        raise RuntimeError(msg)
    message = one.owned.message
    announce = None if message is None else AnnounceRequest.of(message)
    return Seal(token, verdict.result, verdict.handoffs, announce)
