"""Verdicts: what a client says of a message, as a worker would judge it.

Retries go by the policy of the message's task where the server knows the app's code, else by the message's own limit
and the app's default. Pure, but for the dice of the backoff.
"""

import random

from tenure.app import Tenure
from tenure.errors import ResultTooLarge
from tenure.retry import RetryPolicy
from tenure.runtime.verdicts import TRACEBACK_LIMIT, judge_failure
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.remote_delivery import RemoteDelivery
from tenure.server.consumers.settling import Judge
from tenure.tasks.task import Policy
from tenure.text.traceback_text import shorten
from tenure.timing.policy import LeasePolicy
from tenure.verdict import Completed, Dead, Reason, Returned, Verdict


class Verdicts:
    """The verdicts of one app's clients."""

    def __init__(self, app: Tenure) -> None:
        """Judge by the tasks and settings of `app`."""
        self._app = app

    def completed(self, name: LeaseName, result: bytes) -> Judge:
        """The work is done. Raises `ResultTooLarge`; then nothing was changed."""
        raw, limit = result, self._policy(name.task).result_limit
        if len(raw) > limit:
            msg = f"the result has {len(raw):,} bytes, and {limit:,} are kept at most; nothing was changed"
            raise ResultTooLarge(msg)
        return lambda _: Completed(raw)

    def failed(self, text: str, error: str, traceback: str, delay_seconds: float | None) -> Judge:
        """The work failed: another attempt, or a dead letter after the last one."""
        reason = _reason("error", text or error or "the consumer reported a failure", error, traceback)

        def judge(one: RemoteDelivery) -> Verdict:
            message = one.message
            if message is None:
                return Dead(reason, counted=True)
            policy = self._policy(message.task)
            return judge_failure(reason, policy, message, one.attempt, random.random, after=delay_seconds)

        return judge

    def returned(self, delay_seconds: float, text: str) -> Judge:
        """It was not worked on."""
        verdict = Returned(delay_seconds, Reason("given_back", text or "the consumer gave it back"))
        return lambda _: verdict

    def dead(self, text: str, error: str, traceback: str) -> Judge:
        """It can never succeed."""
        verdict = Dead(_reason("rejected", text or "the consumer rejected it", error, traceback), counted=True)
        return lambda _: verdict

    def _policy(self, task: str) -> Policy:
        found = self._app.tasks.get(task)
        if found is not None:
            return found.policy
        settings = self._app.settings
        return Policy(
            RetryPolicy(max_attempts=settings.max_attempts), LeasePolicy(), result_limit=settings.result_limit
        )


def _reason(code: str, text: str, error: str, traceback: str) -> Reason:
    return Reason(code, text, shorten(traceback, TRACEBACK_LIMIT), error)
