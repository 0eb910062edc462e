"""The webhook of an alert: a delivery like any other, to the endpoint that a setting names. Pure.

Signed, retried and replayed by the machinery of webhooks. Its id is made of the finding and its moment, so that two
evaluators which tell the same make one message.
"""

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from urllib.parse import quote

import msgspec

from tenure.message import Message, Outgoing
from tenure.monitoring.alerting.evaluation import Change, ChangeKind
from tenure.monitoring.alerting.reading import QueueReading
from tenure.rules.reserved_queue import reserved_queue
from tenure.webhooks.delivery import TASK, Payload

#: So many queues are named, the worst ones.
MOST_QUEUES = 5


class WorstQueue(msgspec.Struct, frozen=True, kw_only=True):
    """One of the queues in which the most or the oldest waits."""

    queue: str
    waiting: int | None
    oldest_seconds: float | None
    #: Its page. Null: the address of a server is not known (`TENURE_PUBLIC_URL`).
    url: str | None


class NoticeBody(msgspec.Struct, frozen=True, kw_only=True):
    """What the receiver gets, as JSON."""

    #: finding.fired, finding.rose or finding.cleared.
    type: str
    #: Of the finding: `oldest_age@mail-tasks`.
    id: str
    alert: str
    #: page, ticket or show; of one that cleared, what it was.
    severity: str
    subject: str
    title: str
    evidence: str
    remedy: str
    value: float
    #: RFC 3339, UTC.
    since: str
    at: str
    worst_queues: tuple[WorstQueue, ...]
    #: The finding's page, and what to do. Null: the address of a server is not known.
    url: str | None
    runbook_url: str | None


def worst_queues(queues: Sequence[QueueReading], public_url: str | None) -> tuple[WorstQueue, ...]:
    """The queues in which messages wait the longest, measured by what is expected; then those that hold the most."""
    waiting = [one for one in queues if one.waiting]
    waiting.sort(key=lambda one: (-(one.oldest_seconds or 0.0) / one.expected_seconds, -(one.waiting or 0), one.name))
    return tuple(
        WorstQueue(
            queue=one.name, waiting=one.waiting, oldest_seconds=one.oldest_seconds,
            url=None if public_url is None else f"{public_url}/queues/{quote(one.name, safe='')}",
        )
        for one in waiting[:MOST_QUEUES]
    )  # fmt: skip


def notice_of(
    change: Change, severity: str, queues: Sequence[QueueReading], *, endpoint: str, now: float,
    namespace: str | None, public_url: str | None,
) -> Outgoing:  # fmt: skip
    """The message that tells `endpoint` of one change."""
    state, spec = change.state, change.spec
    body = NoticeBody(
        type=f"finding.{change.kind}",
        id=state.name,
        alert=spec.id,
        severity=severity,
        subject=state.subject,
        title=spec.title,
        evidence=state.evidence,
        remedy=spec.remedy,
        value=state.value,
        since=_moment(state.fired_at or now),
        at=_moment(now),
        worst_queues=worst_queues(queues, public_url),
        url=None if public_url is None else f"{public_url}/findings?finding={quote(state.name, safe='')}",
        runbook_url=None if public_url is None else f"{public_url}/runbooks/{spec.runbook}",
    )
    when = state.cleared_at if change.kind is ChangeKind.CLEARED else state.fired_at
    key = "\x1f".join((state.name, change.kind, severity, f"{when or now:.3f}"))
    id = f"whd_{hashlib.sha256(key.encode()).hexdigest()[:32]}"
    payload = Payload(endpoint=endpoint, webhook_id=id, body=msgspec.Raw(msgspec.json.encode(body)))
    return Outgoing(
        Message(
            id=id if namespace is None else f"{namespace}/{id}",
            queue=reserved_queue(namespace),
            task=TASK,
            body=msgspec.Raw(msgspec.json.encode(payload)),
            correlation_id=state.name,
            sent_at=now,
        )
    )


def _moment(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
