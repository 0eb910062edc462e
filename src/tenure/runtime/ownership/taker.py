"""Taking: reads what was leased, claims it, and checks its limits, for a whole batch.

A claim is needed where the broker does not settle exactly once, or the message has a key. DONE wins over every other
rule, so the limits come after it. If a lease came with its claim, the ledger is not called. Before: `Broker.lease`.
After: the caller keeps the lease, and works.
"""

import logging
from collections.abc import Callable, Sequence

import msgspec

from tenure import envelope
from tenure.announcement import AnnounceRequest
from tenure.broker import Broker
from tenure.claim import ClaimAnswer, ClaimRequest, Conflict, Done, Fresh, Running, Scope, Token, digest
from tenure.clock import Clock
from tenure.errors import BodyUndecodable, BrokerUnavailable, OwnerRetired
from tenure.lease import Lease
from tenure.message import Counters, Message
from tenure.rules.lapse import is_lost_too_often, max_lost
from tenure.runtime.outage import OutageBackoff
from tenure.runtime.ownership.owned import UNKNOWN_TASK, Mine, Owned, Reading
from tenure.runtime.ownership.routing import Routing
from tenure.state import Ledger
from tenure.verdict import Dead, Duplicate, Lost, Reason, Returned, Verdict

logger = logging.getLogger("tenure.admission")

#: What a newer Tenure wrote comes back after so long, for a newer process to take it.
NEWER_SECONDS = 30.0


class Taker:
    """Decides for each message of a batch whether the caller may work on it."""

    def __init__(
        self,
        broker: Broker,
        ledger: Ledger,
        clock: Clock,
        *,
        wall: Callable[[], float],
        has_presence: bool,
        routing: Routing,
    ) -> None:
        """`wall` is the store's time; `routing` reads what Tenure did not send."""
        self._traits = broker.traits
        self._ledger = ledger
        self._clock = clock
        self._trouble = OutageBackoff(clock)
        self._wall = wall
        self._has_presence = has_presence
        self._routing = routing

    async def take(
        self, leases: Sequence[Lease], owner: str, own: Callable[[Reading], tuple[Mine, Verdict | None]]
    ) -> list[tuple[Mine, Verdict | None]]:
        """Read, claim, then the limits; as `Ownership.take`."""
        read = [own(self._read(lease)) for lease in leases]
        for one, _ in read:
            if one.lease.is_claimed and one.token is None and one.message is not None:
                _note_claim(one, one.message, owner)
        is_exact = self._traits.settles_exactly_once
        asking = [
            one
            for one, verdict in read
            if verdict is None
            and one.token is None
            and one.message is not None
            and (not is_exact or one.message.key is not None)
        ]
        if asking:
            refused = await self._claim(asking, owner)
            read = [(one, verdict or refused.get(one)) for one, verdict in read]
        now = self._clock.monotonic()
        for place, (one, verdict) in enumerate(read):
            lease, message = one.lease, one.message
            if verdict is None and (  # nearly never: so only then it is looked at closely
                lease.deadline <= now or lease.counters.lost or message is None or message.expires_at is not None
            ):
                read[place] = (one, self._limit(one, now))
        return read

    # -- reading -----------------------------------------------------------------------------------

    def _read(self, lease: Lease) -> Reading:
        try:
            message = envelope.decode(lease.envelope)
        except BodyUndecodable as error:
            return self._read_foreign(lease, error)
        seconds = message.overrides.lease_seconds
        if seconds is not None and not self._traits.lease_per_message:
            # Lent before anybody could read it: from its first touch on it is held for as long as it should be.
            lease = msgspec.structs.replace(lease, seconds=seconds)
        return Reading(lease, message)

    def _read_foreign(self, lease: Lease, error: BodyUndecodable) -> Reading:
        if error.newer:
            return Reading(lease, None, verdict=Returned(NEWER_SECONDS, Reason(UNKNOWN_TASK, str(error))))
        found = self._routing.read(lease, error)
        if not isinstance(found, Message):
            return Reading(lease, None, verdict=found)
        seconds = found.overrides.lease_seconds
        if seconds is not None:
            # Lent before anybody knew: from its next touch on it is held for this long.
            lease = msgspec.structs.replace(lease, seconds=seconds)
        return Reading(lease, found, is_routed=True)

    # -- claiming ----------------------------------------------------------------------------------

    async def _claim(self, asking: Sequence[Owned], owner: str) -> dict[Owned, Verdict]:
        """Claim the messages; return the verdicts of those that the caller may not work on."""
        try:
            answers = await self._ledger.claim([self._request(one, owner) for one in asking])
        except BrokerUnavailable as error:
            # Closed by default: without the ledger's word nothing that needs it is run.
            self._trouble.failed(logger, "claiming", error)
            reason = Reason(error.code, f"the ledger cannot be reached: {error}")
            return dict.fromkeys(asking, Returned(1.0, reason))
        except OwnerRetired:
            # Declared dead since the lease: it was returned with all we had. The next lease call joins again.
            return dict.fromkeys(asking, Lost())
        self._trouble.succeeded(logger, "claiming")
        verdicts = {one: self._note_answer(one, answer) for one, answer in zip(asking, answers, strict=True)}
        return {one: verdict for one, verdict in verdicts.items() if verdict is not None}

    def _request(self, one: Owned, owner: str) -> ClaimRequest:
        if one.message is None:
            msg = "only a message that was read can be claimed"
            raise RuntimeError(msg)
        seconds = one.lease.seconds
        if not one.is_renewed:  # it will not be renewed: it must outlast the lease
            seconds = max(seconds, one.lease.remaining(self._clock.monotonic()))
        announce = AnnounceRequest.of(one.message) if one.is_routed else None
        return ClaimRequest(
            Scope.of(one.message), one.id, owner, seconds, digest(one.message), one.message.sent_at, announce
        )

    def _note_answer(self, one: Owned, answer: ClaimAnswer) -> Verdict | None:
        match answer:
            case Fresh(token):
                one.token, one.fence, one.key_send_id = token, token.fence, token.send_id
                return None
            case Done(result, handoffs):
                return Duplicate(result, handoffs)
            case Running(owner, remaining):
                text = f"{owner} runs it, or another message of its key, for another {remaining:.1f} s at least"
                return Returned(max(0.1, remaining), Reason("running_elsewhere", text))
            case Conflict(holder):
                text = f"its key belongs to message {holder}, which has another payload"
                return Dead(Reason("key_conflict", text))

    # -- limits ------------------------------------------------------------------------------------

    def _limit(self, one: Owned, now: float) -> Verdict | None:
        counters, message = one.lease.counters, one.message
        if one.token is None and one.lease.deadline <= now:
            # Claiming for others of its batch took longer than the lease: another worker may have it by now.
            return Returned(0.0, Reason("lease_lapsed", "its lease ended before it could run"))
        if counters.lost and is_lost_too_often(counters, has_presence=self._has_presence):
            return Dead(max_lost(counters))
        if message is not None and message.expires_at is not None and self._has_expired(message.expires_at, counters):
            return Dead(Reason("expired", "it expired before it was run"))
        return None

    def _has_expired(self, moment: float, counters: Counters) -> bool:
        """Whether it has expired.

        Only before its first run: a message that waits for a retry may have done half of its work.
        """
        was_begun = counters.attempts or counters.crashes or counters.lost
        return not was_begun and self._wall() >= moment


def _note_claim(one: Owned, message: Message, owner: str) -> None:
    """Note the claim that came with the lease: under its fence, and for as long."""
    one.token = Token(Scope.of(message), one.id, owner, one.lease.fence, one.lease.seconds)
