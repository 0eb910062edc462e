"""Settle one: the same as `settle.py` for a single message, with statuses instead of outcomes.

For programs that look at the status alone, such as `curl --fail`: 409 `taken_over`, `message_cancelled` and
`lease_lost`, 410 `already_gone`.
"""

from typing import Any

from tenure.errors import BadArgument, LeaseLost, MessageCancelled, ResultTooLarge
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.settling import SettleAnswer, SettleOutcome
from tenure.server.consumers.touching import TouchOutcome
from tenure.server.errors import AlreadyGone, LeaseTokenInvalid, TakenOver
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, LEASE_TOKEN
from tenure.server.routes.settle import Settles, settled, touched
from tenure.server.routes.settle_bodies import (
    AckEntry,
    DeadLetterEntry,
    GiveBackEntry,
    NackEntry,
    SettledLease,
    TouchedByToken,
    TouchEntry,
)  # fmt: skip


async def ack_message(ask: Ask[None, AckEntry]) -> Reply:
    """Complete one message."""
    return _settled(ask, await Settles(ask, only=ask.path["id"]).ack([ask.body]))


async def nack_message(ask: Ask[None, NackEntry]) -> Reply:
    """Count a failed attempt."""
    return _settled(ask, await Settles(ask, only=ask.path["id"]).nack([ask.body]))


async def give_back_message(ask: Ask[None, GiveBackEntry]) -> Reply:
    """Return one message uncounted."""
    return _settled(ask, await Settles(ask, only=ask.path["id"]).give_back([ask.body]))


async def dead_letter_message(ask: Ask[None, DeadLetterEntry]) -> Reply:
    """Put one message aside."""
    return _settled(ask, await Settles(ask, only=ask.path["id"]).dead_letter([ask.body]))


async def touch_message(ask: Ask[None, TouchEntry]) -> Reply:
    """Renew one lease."""
    ((name, answer),) = await Settles(ask, only=ask.path["id"]).touch([ask.body])
    if answer.error is not None:
        raise answer.error
    id = ask.path["id"]
    if answer.outcome is TouchOutcome.LOST:
        msg = f"the lease on {id} has ended; stop the work, and settle nothing"
        raise LeaseLost(msg)
    if answer.outcome is TouchOutcome.CANCELLED:
        raise MessageCancelled(_cancelled(id))
    return Reply(value=touched(name, answer))


def _settled(ask: Ask[None, Any], found: list[tuple[LeaseName | None, SettleAnswer]]) -> Reply:
    ((name, answer),) = found
    if answer.error is not None:
        raise answer.error
    id = ask.path["id"]
    match answer.outcome:
        case SettleOutcome.ALREADY_GONE:
            msg = f"the lease on {id} has ended, and no other consumer has the message; nothing was changed"
            raise AlreadyGone(msg)
        case SettleOutcome.TAKEN_OVER:
            msg = f"the lease on {id} has ended, and another consumer has the message; nothing was changed"
            raise TakenOver(msg)
        case SettleOutcome.CANCELLED:
            raise MessageCancelled(_cancelled(id))
    return Reply(value=settled(name, answer))


def _cancelled(id: str) -> str:
    return f"message {id} was cancelled; nothing was changed. Stop the work"


_DONE = {"id": ID, "outcome": "deleted", "code": None, "detail": None, "outcome_unknown": False}
_ERRORS = (LeaseTokenInvalid, TakenOver, AlreadyGone, MessageCancelled)
_AS_MANY = "As the route for many, with a status instead of an outcome: 409 `taken_over`, 410 `already_gone`."

ROUTES = (
    Route(
        method="POST", path="/messages/{id}/ack", scope=AccessScope.CONSUME, handler=ack_message, body=AckEntry,
        answer=SettledLease, summary="Complete a message", description=_AS_MANY,
        body_example={"token": LEASE_TOKEN, "result": {"width": 800}}, example=_DONE,
        errors=(*_ERRORS, ResultTooLarge),
    ),
    Route(
        method="POST", path="/messages/{id}/nack", scope=AccessScope.CONSUME, handler=nack_message, body=NackEntry,
        answer=SettledLease, summary="Count a failed attempt", description=_AS_MANY,
        body_example={"token": LEASE_TOKEN, "reason": "the disk is full"}, example={**_DONE, "outcome": "returned"},
        errors=_ERRORS,
    ),
    Route(
        method="POST", path="/messages/{id}/touch", scope=AccessScope.CONSUME, handler=touch_message, body=TouchEntry,
        answer=TouchedByToken, summary="Keep a lease",
        description="As the route for many; a lease that is lost is a problem with status 409.",
        body_example={"token": LEASE_TOKEN},
        example={"id": ID, "outcome": "held", "expires_in_seconds": 30.0, "code": None, "detail": None},
        errors=(LeaseTokenInvalid, LeaseLost, MessageCancelled, BadArgument),
    ),
    Route(
        method="POST", path="/messages/{id}/give-back", scope=AccessScope.CONSUME, handler=give_back_message,
        body=GiveBackEntry, answer=SettledLease, summary="Return a message that was not worked on",
        description=_AS_MANY, body_example={"token": LEASE_TOKEN}, example={**_DONE, "outcome": "returned"},
        errors=_ERRORS,
    ),
    Route(
        method="POST", path="/messages/{id}/dead-letter", scope=AccessScope.CONSUME, handler=dead_letter_message,
        body=DeadLetterEntry, answer=SettledLease, summary="Put a message with the dead letters",
        description=_AS_MANY, body_example={"token": LEASE_TOKEN, "reason": "c.jpg is no PNG"},
        example={**_DONE, "outcome": "dead"}, errors=_ERRORS,
    ),
)  # fmt: skip
