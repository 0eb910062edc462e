"""A queue's own redrive policy: after so many receives SQS itself moves a message away, past Tenure.

Tenure counts attempts itself and keeps dead letters itself, so it needs no policy. Where there is one, a worker
respects it. A patient one becomes a finding. One that would take messages away too soon is an error, or, with
`redrive_policy=accept` in the URL, a finding that says what follows from it. Pure; used by `physical_queues.py`.
"""

import json

import msgspec

from tenure.adapters.aws import faults
from tenure.finding import Finding, Severity

#: A policy below this takes messages away that were only returned, or waited in hops.
LEAST_RECEIVES = 100


class Policy(msgspec.Struct, frozen=True):
    """What the queue's own policy says."""

    receives: int
    #: The name of the queue to which SQS moves messages.
    target: str


def read(attributes: dict[str, str]) -> Policy | None:
    """The policy among a queue's attributes. None: there is none."""
    text = attributes.get("RedrivePolicy")
    if not text:
        return None
    words = json.loads(text)
    target = str(words.get("deadLetterTargetArn", ""))
    return Policy(int(words.get("maxReceiveCount", 0)), target.rpartition(":")[2])


def refuse_eager(queue: str, policy: Policy) -> None:
    """Raise `RedriveTooSoon` for one that does not wait for the end of a message's attempts."""
    if policy.receives >= LEAST_RECEIVES:
        return
    msg = (
        f"queue {queue!r} moves a message to {policy.target!r} itself after {policy.receives} receives (its redrive "
        f"policy), before its attempts are used up: beside each attempt a receive is spent on each return (a lost "
        f"lease up to 10 times, a give-back any number of times) and on each 12 hours of a long delay (up to 27). "
        f"Nothing was started. Set maxReceiveCount to {LEAST_RECEIVES} at least, or take the policy away: Tenure keeps "
        "dead letters itself. If the policy must stay, add redrive_policy=accept to the URL"
    )
    raise faults.RedriveTooSoon(msg)


def finding(queue: str, policy: Policy) -> Finding:
    """What is unwise about a policy that a worker works with."""
    if policy.receives < LEAST_RECEIVES:
        return _accepted(queue, policy)
    evidence = (
        f"after {policy.receives} receives SQS itself moves a message to queue {policy.target!r} (its redrive policy); "
        "Tenure then still believes that it waits"
    )
    remedy = (
        f"Take the policy away, because Tenure keeps dead letters itself; what lies in {policy.target!r} goes back by "
        "SQS's own redrive (start-message-move-task)"
    )
    return Finding("redrive_policy", Severity.WARNING, f"queue {queue}", evidence, remedy)


def _accepted(queue: str, policy: Policy) -> Finding:
    evidence = (
        f"after {policy.receives} receives SQS itself moves a message to queue {policy.target!r} (its redrive policy, "
        "accepted by redrive_policy=accept). Each attempt is a receive, and so is each return: of a crashed or stopped "
        "worker, of a task at its limit, of each 12 hours of a delay. So a message can be moved before its attempts "
        "are used up, or without a run. Tenure then believes that it waits, and tells of no dead letter"
    )
    remedy = (
        f"Set max_attempts to {max(1, policy.receives)} at most, watch {policy.target!r}, and send what lies there "
        "back by SQS's own redrive (start-message-move-task)"
    )
    return Finding("redrive_policy", Severity.WARNING, f"queue {queue}", evidence, remedy)
