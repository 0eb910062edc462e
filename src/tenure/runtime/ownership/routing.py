"""Routing: turns a message that Tenure did not send into a call, by the app's own route (`tenure/foreign.py`).

If the route does not know the message, or says that it can never be read, it becomes a dead letter at once, unchanged.
Any other failure of the route uses an attempt: a later try may succeed. Used by `taker.py`.
"""

import random
from collections.abc import Callable

import msgspec

from tenure.errors import BodyUndecodable, PayloadInvalid
from tenure.foreign import Router
from tenure.lease import Lease
from tenure.message import Message
from tenure.retry import RetryPolicy
from tenure.runtime.verdicts import judge_error
from tenure.tasks.task import Policy
from tenure.timing.policy import LeasePolicy
from tenure.verdict import Dead, Reason, Retried, Snoozed

_HINT = "if Tenure did not send it, let app.on_foreign say which call it is, and redrive it"


class Routing:
    """Calls the routes of an app."""

    def __init__(self, router: Router | None, max_attempts: int, draw: Callable[[], float] = random.random) -> None:
        """A route that fails is asked again, `max_attempts` times in all."""
        self._router = router
        self._policy = Policy(RetryPolicy(max_attempts=max_attempts), LeasePolicy())
        self._draw = draw

    def read(self, lease: Lease, error: BodyUndecodable) -> Message | Dead | Retried | Snoozed:
        """Route the message; or return its verdict."""
        if self._router is None or not self._router.knows(lease.queue):
            return Dead(Reason(error.code, f"the message cannot be read: {error}; {_HINT}"))
        try:
            message = self._router.message(lease)
        except (BodyUndecodable, PayloadInvalid) as unfit:
            return Dead(Reason(unfit.code, f"Tenure did not send it, and its route cannot read it: {unfit}"))
        except Exception as failure:  # noqa: BLE001 - a user's own code may raise anything
            return self._judge(lease, failure)
        if message is None:
            text = f"Tenure did not send it, and the route of {lease.queue!r} does not know it"
            return Dead(Reason("foreign_unrouted", text))
        return message

    def _judge(self, lease: Lease, failure: Exception) -> Dead | Retried | Snoozed:
        nobody = Message(id=lease.id, queue=lease.queue, task="", body=msgspec.Raw(b"null"))
        verdict = judge_error(failure, self._policy, nobody, lease.counters.attempts + 1, self._draw)
        text = f"the route of {lease.queue!r} for what Tenure did not send: {verdict.reason.text}"
        return msgspec.structs.replace(verdict, reason=msgspec.structs.replace(verdict.reason, text=text))
