"""Touching: renews the leases of clients, keeps what they say of their progress, and tells them what they lost.

A claim is renewed first: where there is one it decides, as in a worker's heartbeat. The token of a lease stays as it
is.
"""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from tenure.app import Tenure
from tenure.errors import BrokerError, BrokerUnavailable, TenureError
from tenure.lease import Lease, LeaseState
from tenure.record import Progress
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.lookup import Lookup, is_cancelled
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.server.consumers.reporting import Reporting


class TouchOutcome(StrEnum):
    """What became of a lease that was touched."""

    #: It lasts `expires_in_seconds` from now.
    HELD = "held"
    #: It has ended: stop the work, and settle nothing.
    LOST = "lost"
    #: The message was cancelled: stop the work.
    CANCELLED = "cancelled"
    #: The store did not answer: go on, and touch again soon.
    UNCERTAIN = "uncertain"
    #: It cannot be touched as it is: `code` and `detail` say why.
    REFUSED = "refused"


class TouchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one entry."""

    outcome: TouchOutcome
    #: Of a lease that is held.
    expires_in_seconds: float | None = None
    error: TenureError | None = None


class TouchAsk(msgspec.Struct, frozen=True, kw_only=True):
    """One lease to touch."""

    name: LeaseName
    #: None: its own length.
    seconds: float | None = None
    progress: Progress | None = None


_LOST = TouchAnswer(outcome=TouchOutcome.LOST)


class Touching:
    """The touches of one process."""

    def __init__(self, app: Tenure, lookup: Lookup, reporting: Reporting) -> None:
        """Touch at the broker of `app`."""
        self._app = app
        self._lookup = lookup
        self._reporting = reporting

    async def touch(self, asked: Sequence[TouchAsk]) -> list[TouchAnswer]:
        """One answer for each entry, in order."""
        found = await self._lookup.find([ask.name for ask in asked])
        answers: dict[int, TouchAnswer] = {}
        mine: dict[int, RemoteDelivery] = {}
        for place, delivery in enumerate(found):
            if isinstance(delivery, BrokerError):
                answers[place] = _uncertain(delivery)
            elif delivery is None:
                answers[place] = _LOST
            else:
                mine[place] = delivery
        limit = self._app.broker.traits.batch_limit
        places = list(mine)
        for start in range(0, len(places), limit):
            await self._touch({place: mine[place] for place in places[start : start + limit]}, asked, answers)
        self._reporting.beat([mine[place] for place in mine if answers[place].outcome is TouchOutcome.HELD])
        return [
            await self._told(ask.name) if (answer := answers[place]).outcome is TouchOutcome.LOST else answer
            for place, ask in enumerate(asked)
        ]

    async def _touch(
        self, mine: dict[int, RemoteDelivery], asked: Sequence[TouchAsk], answers: dict[int, TouchAnswer]
    ) -> None:
        try:
            kept = await self._renew_claims(mine, asked)
            held = {place: one for place, one in mine.items() if kept.get(place, True)}
            touched = await self._app.broker.touch([_asked(one, asked[place]) for place, one in held.items()])
        except BrokerUnavailable as error:
            answers.update(dict.fromkeys(mine, _uncertain(error)))
            return
        answers.update({place: _LOST for place in mine if place not in held})
        now = self._app.clock.monotonic()
        said: list[tuple[Lease, Progress]] = []
        for (place, one), lease in zip(held.items(), touched, strict=True):
            answers[place] = _answer(lease, now)
            if lease.state is LeaseState.LOST:
                continue
            # A longer touch counts once: later ones ask for the usual length.
            one.lease = msgspec.structs.replace(lease, seconds=one.lease.seconds, envelope=one.lease.envelope)
            if (progress := asked[place].progress) is not None:
                said.append((one.lease, progress))
        if said:
            await self._app.state.records.progress(said)

    async def _renew_claims(self, mine: dict[int, RemoteDelivery], asked: Sequence[TouchAsk]) -> dict[int, bool]:
        tokens = {}
        for place, one in mine.items():
            if (token := one.claim) is not None:
                seconds = asked[place].seconds
                tokens[place] = token if seconds is None else msgspec.structs.replace(token, seconds=seconds)
        if not tokens:
            return {}
        return dict(zip(tokens, await self._app.state.ledger.renew(list(tokens.values())), strict=True))

    async def _told(self, name: LeaseName) -> TouchAnswer:
        """Look why a lease is lost: a cancelled message has that outcome."""
        try:
            cancelled = is_cancelled(await self._lookup.record(name))
        except BrokerUnavailable:
            cancelled = False
        return TouchAnswer(outcome=TouchOutcome.CANCELLED) if cancelled else _LOST


def _asked(one: RemoteDelivery, ask: TouchAsk) -> Lease:
    return one.lease if ask.seconds is None else msgspec.structs.replace(one.lease, seconds=ask.seconds)


def _answer(lease: Lease, now: float) -> TouchAnswer:
    if lease.state is LeaseState.LOST:
        return _LOST
    return TouchAnswer(outcome=TouchOutcome.HELD, expires_in_seconds=round(lease.remaining(now), 3))


def _uncertain(error: TenureError) -> TouchAnswer:
    return TouchAnswer(outcome=TouchOutcome.UNCERTAIN, error=error)
