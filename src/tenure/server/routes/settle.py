"""Settle: a client says what became of its messages, and keeps the leases of those that it still works on.

Each request names many leases by their tokens, and is always answered 200 with one outcome for each, in order: one that
is refused does not hold up the others. For a single message: `settle_one.py`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from tenure.errors import BadArgument, BrokerError, TenureError
from tenure.record import Progress
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.settling import Judge, SettleAnswer, SettleOutcome
from tenure.server.consumers.touching import TouchAnswer, TouchAsk, TouchOutcome
from tenure.server.consumers.verdicts import Verdicts
from tenure.server.errors import LeaseTokenInvalid
from tenure.server.principal import AccessScope
from tenure.server.problem import problem_of
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import LEASE_TOKEN
from tenure.server.routes.lease import MOST_WANTED
from tenure.server.routes.settle_bodies import (
    AckEntry,
    Acks,
    DeadLetterEntry,
    DeadLetters,
    GiveBackEntry,
    GiveBacks,
    NackEntry,
    Nacks,
    SettledLease,
    SettledLeases,
    TouchedByToken,
    TouchedByTokens,
    TouchEntry,
    Touches,
)  # fmt: skip

E = TypeVar("E", bound="Entry")

_NO_TOKEN = "this is no token of a lease that is there for this access; nothing was changed"  # noqa: S105 - a sentence


class Entry(Protocol):
    """What every entry has."""

    @property
    def token(self) -> str:
        """The token of the lease."""
        ...


class Settles:
    """Entries of one request on their way to the store and back."""

    def __init__(self, ask: Ask[Any, Any], *, only: str | None = None) -> None:
        """For the principal of `ask`. `only`: every token must be one of this message."""
        self._ask = ask
        self._only = only
        self._verdicts = Verdicts(ask.app)

    async def ack(self, entries: Sequence[AckEntry]) -> list[tuple[LeaseName | None, SettleAnswer]]:
        """Complete messages."""
        return await self._settle(entries, lambda entry, name: self._verdicts.completed(name, _result(entry)))

    async def nack(self, entries: Sequence[NackEntry]) -> list[tuple[LeaseName | None, SettleAnswer]]:
        """Count failed attempts."""
        verdicts = self._verdicts
        return await self._settle(
            entries,
            lambda entry, _: verdicts.failed(entry.reason, entry.error, entry.traceback, entry.delay_seconds),
        )

    async def give_back(self, entries: Sequence[GiveBackEntry]) -> list[tuple[LeaseName | None, SettleAnswer]]:
        """Return messages uncounted."""
        verdicts = self._verdicts
        return await self._settle(entries, lambda entry, _: verdicts.returned(entry.delay_seconds, entry.reason))

    async def dead_letter(self, entries: Sequence[DeadLetterEntry]) -> list[tuple[LeaseName | None, SettleAnswer]]:
        """Put messages aside."""
        verdicts = self._verdicts
        return await self._settle(entries, lambda entry, _: verdicts.dead(entry.reason, entry.error, entry.traceback))

    async def touch(self, entries: Sequence[TouchEntry]) -> list[tuple[LeaseName | None, TouchAnswer]]:
        """Renew leases."""
        longest = self._ask.operate.access.broker.traits.max_lease_seconds

        def asked(entry: TouchEntry, name: LeaseName) -> TouchAsk:
            if entry.seconds is not None and entry.seconds > longest:
                msg = f"seconds: this store holds a lease for {longest:g} seconds at most; the lease was not touched"
                raise BadArgument(msg)
            said = entry.progress
            return TouchAsk(
                name=name, seconds=entry.seconds, progress=None if said is None else Progress(said.fraction, said.note)
            )

        named, refused, asks = await self._read(entries, asked)
        answers = iter(await self._ask.server.consumers.touch(asks))
        refusals = {place: TouchAnswer(outcome=TouchOutcome.REFUSED, error=error) for place, error in refused.items()}
        return [(name, refusals.get(place) or next(answers)) for place, name in enumerate(named)]

    async def _settle(
        self, entries: Sequence[E], judge: Callable[[E, LeaseName], Judge]
    ) -> list[tuple[LeaseName | None, SettleAnswer]]:
        named, refused, asks = await self._read(entries, lambda entry, name: (name, judge(entry, name)))
        answers = iter(await self._ask.server.consumers.settle(asks))
        refusals = {place: SettleAnswer(outcome=SettleOutcome.REFUSED, error=error) for place, error in refused.items()}
        return [(name, refusals.get(place) or next(answers)) for place, name in enumerate(named)]

    async def _read(
        self, entries: Sequence[E], asked: Callable[[E, LeaseName], Any]
    ) -> tuple[list[LeaseName | None], dict[int, TenureError], list[Any]]:
        """The names of all, the errors of those that are refused, and what is asked for the others."""
        access = self._ask.operate.access
        await access.open()
        tokens = self._ask.server.consumers.tokens
        named: list[LeaseName | None] = []
        refused: dict[int, TenureError] = {}
        asks: list[Any] = []
        for place, entry in enumerate(entries):
            name = await tokens.read(entry.token)
            if name is None or not access.sees(name.queue):
                name, refused[place] = None, LeaseTokenInvalid(_NO_TOKEN)
            elif self._only is not None and name.id != self._only:
                refused[place] = LeaseTokenInvalid("the token is that of another message; nothing was changed")
            else:
                try:
                    asks.append(asked(entry, name))
                except TenureError as error:
                    refused[place] = error
            named.append(name)
        return named, refused, asks


def _result(entry: AckEntry) -> bytes:
    return b"null" if isinstance(entry.result, msgspec.UnsetType) else bytes(entry.result)


async def ack_leases(ask: Ask[None, Acks]) -> Reply:
    """Complete messages."""
    return _settled(await Settles(ask).ack(ask.body.leases))


async def nack_leases(ask: Ask[None, Nacks]) -> Reply:
    """Count failed attempts."""
    return _settled(await Settles(ask).nack(ask.body.leases))


async def give_back_leases(ask: Ask[None, GiveBacks]) -> Reply:
    """Return messages uncounted."""
    return _settled(await Settles(ask).give_back(ask.body.leases))


async def dead_letter_leases(ask: Ask[None, DeadLetters]) -> Reply:
    """Put messages aside."""
    return _settled(await Settles(ask).dead_letter(ask.body.leases))


async def touch_leases(ask: Ask[None, Touches]) -> Reply:
    """Renew leases."""
    found = await Settles(ask).touch(ask.body.leases)
    return Reply(value=TouchedByTokens(leases=[touched(name, answer) for name, answer in found]))


def _settled(found: Sequence[tuple[LeaseName | None, SettleAnswer]]) -> Reply:
    return Reply(value=SettledLeases(leases=[settled(name, answer) for name, answer in found]))


def settled(name: LeaseName | None, answer: SettleAnswer) -> SettledLease:
    """One answer as it is sent."""
    id, error = None if name is None else name.id, answer.error
    if error is None:
        return SettledLease(id=id, outcome=answer.outcome)
    problem = problem_of(error)
    return SettledLease(
        id=id,
        outcome=answer.outcome,
        code=problem.code,
        detail=problem.detail,
        outcome_unknown=isinstance(error, BrokerError) and problem.outcome_unknown,
    )


def touched(name: LeaseName | None, answer: TouchAnswer) -> TouchedByToken:
    """One answer as it is sent."""
    problem = None if answer.error is None else problem_of(answer.error)
    return TouchedByToken(
        id=None if name is None else name.id,
        outcome=answer.outcome,
        expires_in_seconds=answer.expires_in_seconds,
        code=None if problem is None else problem.code,
        detail=None if problem is None else problem.detail,
    )


_ID = "019b75d1f8a04c1f9e2b7d3a5c6e8f01"


def _example(outcome: str) -> dict[str, Any]:
    return {"leases": [
        {"id": _ID, "outcome": outcome, "code": None, "detail": None, "outcome_unknown": False},
        {"id": _ID, "outcome": "taken_over", "code": None, "detail": None, "outcome_unknown": False},
    ]}  # fmt: skip


_ALWAYS = (
    f"Up to {MOST_WANTED:,} in one request. The answer is always 200 with one outcome for each entry, in order. "
    "`already_gone` and `taken_over`: the lease has ended, and nothing was changed. `failed`: the store did not take "
    "it, say it again. "
)

ROUTES = (
    Route(
        method="POST", path="/leases/ack", scope=AccessScope.CONSUME, handler=ack_leases, body=Acks,
        answer=SettledLeases, summary="Complete messages",
        description=_ALWAYS + "`deleted`: it is done, with its result; it is not leased again.",
        body_example={"leases": [
            {"token": LEASE_TOKEN, "result": {"width": 800, "bytes": 51234}}, {"token": LEASE_TOKEN},
        ]},
        example=_example("deleted"),
    ),
    Route(
        method="POST", path="/leases/nack", scope=AccessScope.CONSUME, handler=nack_leases, body=Nacks,
        answer=SettledLeases, summary="Count failed attempts",
        description=(
            _ALWAYS + "`returned`: it is leased again after the task's backoff, or after `delay_seconds`. `dead`: that "
            "was its last attempt, and it is a dead letter now."
        ),
        body_example={"leases": [
            {"token": LEASE_TOKEN, "reason": "the disk is full", "error": "OSError"},
            {"token": LEASE_TOKEN, "delay_seconds": 60},
        ]},
        example=_example("returned"),
    ),
    Route(
        method="POST", path="/leases/touch", scope=AccessScope.CONSUME, handler=touch_leases, body=Touches,
        answer=TouchedByTokens, summary="Keep leases",
        description=(
            f"Up to {MOST_WANTED:,} in one request, at best every third of a lease. The answer is always 200 with one "
            "outcome for each entry, in order. `held`: it lasts for `expires_in_seconds`; the token stays the same. "
            "`lost` and `cancelled`: stop the work, and settle nothing. `uncertain`: the store did not answer; go on."
        ),
        body_example={"leases": [{"token": LEASE_TOKEN, "progress": {"fraction": 0.4, "note": "page 4 of 10"}}]},
        example={"leases": [
            {"id": _ID, "outcome": "held", "expires_in_seconds": 30.0, "code": None, "detail": None},
        ]},
    ),
    Route(
        method="POST", path="/leases/give-back", scope=AccessScope.CONSUME, handler=give_back_leases, body=GiveBacks,
        answer=SettledLeases, summary="Return messages that were not worked on",
        description=(
            _ALWAYS + "`returned`: it may be leased again at once, or after `delay_seconds`; nothing is counted."
        ),
        body_example={"leases": [{"token": LEASE_TOKEN}, {"token": LEASE_TOKEN, "delay_seconds": 10}]},
        example=_example("returned"),
    ),
    Route(
        method="POST", path="/leases/dead-letter", scope=AccessScope.CONSUME, handler=dead_letter_leases,
        body=DeadLetters, answer=SettledLeases, summary="Put messages with the dead letters",
        description=_ALWAYS + "`dead`: it is a dead letter, with the reason; people may redrive it.",
        body_example={"leases": [
            {"token": LEASE_TOKEN, "reason": "c.jpg is no PNG", "error": "ValueError"}, {"token": LEASE_TOKEN},
        ]},
        example=_example("dead"),
    ),
)  # fmt: skip
