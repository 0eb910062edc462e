"""Routing: what a message that Tenure did not send is read as, by the app's own route (`tenure/foreign.py`).

A route that does not know it, or says that it can never be read, sends it to the dead letters at once, as it lay in its
queue. One that fails otherwise has used an attempt: what it needed may be there next time. Used by `admission.py`.
"""

import random
from collections.abc import Callable

import msgspec

from tenure.errors import BodyUndecodable, PayloadInvalid
from tenure.foreign import Router
from tenure.message import Message
from tenure.retry import RetryPolicy
from tenure.runtime.delivery import Delivery
from tenure.runtime.judging import judge_error
from tenure.task import Policy
from tenure.timing.policy import LeasePolicy
from tenure.verdict import Dead, Reason, Retried, Snoozed

_HINT = "if Tenure did not send it, let app.on_foreign say which call it is, and redrive it"


class Routing:
    """Asks the routes of an app."""

    def __init__(self, router: Router | None, max_attempts: int, draw: Callable[[], float] = random.random) -> None:
        """A route that fails is asked again, `max_attempts` times in all."""
        self._router = router
        self._policy = Policy(RetryPolicy(max_attempts=max_attempts), LeasePolicy())
        self._draw = draw

    def read(self, delivery: Delivery, error: BodyUndecodable) -> Message | Dead | Retried | Snoozed:
        """What the route says that it is; or the end of it, for now or for good."""
        lease = delivery.lease
        if self._router is None or not self._router.knows(lease.queue):
            return Dead(Reason(error.code, f"the message cannot be read: {error}; {_HINT}"))
        try:
            message = self._router.message(lease)
        except (BodyUndecodable, PayloadInvalid) as unfit:
            return Dead(Reason(unfit.code, f"Tenure did not send it, and its route cannot read it: {unfit}"))
        except Exception as failure:  # noqa: BLE001 - a user's own code may raise anything
            return self._judge(delivery, failure)
        if message is None:
            text = f"Tenure did not send it, and the route of {lease.queue!r} does not know it"
            return Dead(Reason("foreign_unrouted", text))
        delivery.is_routed = True
        seconds = message.overrides.lease_seconds
        if seconds is not None:
            # Lent before anybody knew: from its next touch on it is held for so long.
            delivery.lease = msgspec.structs.replace(lease, seconds=seconds)
        return message

    def _judge(self, delivery: Delivery, failure: Exception) -> Dead | Retried | Snoozed:
        lease = delivery.lease
        nobody = Message(id=lease.id, queue=lease.queue, task="", body=msgspec.Raw(b"null"))
        verdict = judge_error(failure, self._policy, nobody, delivery.attempt, self._draw)
        text = f"the route of {lease.queue!r} for what Tenure did not send: {verdict.reason.text}"
        return msgspec.structs.replace(verdict, reason=msgspec.structs.replace(verdict.reason, text=text))
