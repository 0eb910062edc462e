"""Examines SQS and the state beside it: which queues are there, their own policies, rights, retention, encryption.

Makes no queue, receives nothing and sends nothing. Rights are tried with calls that cannot do anything: a delete and a
change of visibility with a receipt that never was, and a batch without entries. Used by `SqsQueue.examine`.
"""

import asyncio
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec

from tenure.adapters.aws import faults, redrive_policy
from tenure.adapters.aws.faults import QueueMissing
from tenure.adapters.aws.physical_queues import PhysicalQueues
from tenure.adapters.aws.session import Session
from tenure.delivery_queue import PhysicalQueue
from tenure.errors import ConfigurationError, PermissionMissing, TenureError
from tenure.examination import Area, Examination
from tenure.finding import Finding, Severity
from tenure.rules.ledger_window import examine_window
from tenure.rules.open_connection import find_unencrypted
from tenure.text.plural import plural

#: This many physical queues are looked at; each costs five requests.
MOST_QUEUES = 50
#: A receipt that the service never gave.
_NO_RECEIPT = "tenure-doctor"
_PROBES: dict[str, dict[str, Any]] = {
    "send_message_batch": {"Entries": []},
    "delete_message": {"ReceiptHandle": _NO_RECEIPT},
    "change_message_visibility": {"ReceiptHandle": _NO_RECEIPT, "VisibilityTimeout": 0},
}


class _Looked(msgspec.Struct, frozen=True, kw_only=True):
    """One physical queue. `attributes` is empty where it is not there or may not be read."""

    queue: str
    url: str = ""
    attributes: dict[str, str] = {}
    #: Operations that these credentials may not do there.
    denied: tuple[str, ...] = ()
    is_missing: bool = False
    #: Why it could not be looked at.
    trouble: str = ""


async def examine(session: Session, known: PhysicalQueues, queues: Sequence[str]) -> list[Examination]:
    """Examine the physical queues of these queues, and how they are reached."""
    all_of = [physical for queue in queues for physical in known.of(queue)][:MOST_QUEUES]
    looked = await asyncio.gather(*(_look(session, known, physical) for physical in all_of))
    found = [
        _connection(session),
        _presence(session, looked),
        await _policies(session, looked),
        _rights(session, looked),
        _window(session, looked),
    ]
    if session.options.state_url is None:
        found.append(await _forgetting(session))
    return found


async def _look(session: Session, known: PhysicalQueues, physical: PhysicalQueue) -> _Looked:
    place = session.options.place
    try:
        url = await known.url(physical)
        answer = await session.call("sqs", "get_queue_attributes", place, QueueUrl=url, AttributeNames=["All"])
    except QueueMissing:
        return _Looked(queue=physical.queue, is_missing=True)
    except TenureError as error:
        if _is_denial(error, place):
            return _Looked(queue=physical.queue, denied=("get_queue_url and get_queue_attributes",))
        return _Looked(queue=physical.queue, trouble=str(error))
    denied = [name for name, words in _PROBES.items() if await _is_denied(session, name, QueueUrl=url, **words)]
    return _Looked(queue=physical.queue, url=url, attributes=answer.get("Attributes", {}), denied=tuple(denied))


async def _is_denied(session: Session, operation: str, **words: Any) -> bool:
    """Whether these credentials may not do it. Any other answer shows that they may."""
    try:
        await session.call("sqs", operation, session.options.place, **words)
    except TenureError as error:
        return _is_denial(error, session.options.place)
    return False


def _is_denial(error: TenureError, place: str) -> bool:
    """Also where the session calls it an outage, because it worked before."""
    cause = error.__cause__
    return isinstance(error, PermissionMissing) or (
        cause is not None and isinstance(faults.translate(cause, "", place), PermissionMissing)
    )


def _connection(session: Session) -> Examination:
    ends = [end for end in (session.options.endpoint, session.options.state_endpoint) if end is not None]
    hosts = [urlsplit(end).hostname or "" for end in ends if end.startswith("http://")]
    remedy = "Write https:// in the endpoint of the URL"
    return Examination(
        id="connection", area=Area.STORE, title="connection",
        seen=f"without TLS, at {', '.join(hosts)}" if hosts else "by TLS",
        findings=tuple(find_unencrypted(session.options.place, hosts, remedy=remedy)),
    )  # fmt: skip


def _presence(session: Session, looked: Sequence[_Looked]) -> Examination:
    missing = [one.queue for one in looked if one.is_missing]
    trouble = next((one.trouble for one in looked if one.trouble), "")
    if trouble and (not missing or session.options.create):
        return Examination(id="queues_there", area=Area.QUEUES, title="queues there", unknown=trouble)
    there = sum(not (one.is_missing or one.trouble) for one in looked)
    findings: list[Finding] = []
    if missing and not session.options.create:
        evidence = "SQS has no such queue: a send to it is refused, and a worker on it does not start"
        remedy = "Make the queue, or add create=yes to the URL"
        findings = [Finding("queue_missing", Severity.CRITICAL, f"queue {name}", evidence, remedy) for name in missing]
    made = f", {len(missing)} will be made when first used" if missing and session.options.create else ""
    return Examination(
        id="queues_there", area=Area.QUEUES, title="queues there",
        seen=f"{there} of {plural(len(looked), 'queue')} at SQS{made}", findings=tuple(findings),
    )  # fmt: skip


async def _policies(session: Session, looked: Sequence[_Looked]) -> Examination:
    """What the queues' own redrive policies do. Tenure needs none."""
    findings: list[Finding] = []
    read = [(one, own) for one in looked if (own := redrive_policy.read(one.attributes)) is not None]
    for one, own in read:
        findings.append(_policy_finding(session, one.queue, own))
        if await _is_gone(session, own.target):
            evidence = (
                f"its redrive policy names the queue {own.target!r}, which is not there: SQS cannot move a message"
            )
            remedy = f"Make the queue {own.target!r}, or take the policy away"
            findings.append(Finding("redrive_target_missing", Severity.WARNING, f"queue {one.queue}", evidence, remedy))
    return Examination(
        id="redrive_policy", area=Area.QUEUES, title="redrive policy",
        seen=f"{plural(len(read), 'queue')} with a policy of SQS's own" if read else "no queue has one of SQS's own",
        findings=tuple(findings),
    )  # fmt: skip


def _policy_finding(session: Session, queue: str, own: redrive_policy.Policy) -> Finding:
    if own.receives >= redrive_policy.LEAST_RECEIVES or session.options.accepts_redrive_policy:
        return redrive_policy.finding(queue, own)
    evidence = (
        f"after {own.receives} receives SQS itself moves a message to {own.target!r}, before its attempts are used up: "
        "no worker starts on this queue"
    )
    remedy = (
        f"Set maxReceiveCount to {redrive_policy.LEAST_RECEIVES} at least, or take the policy away: Tenure keeps dead "
        "letters itself. If it must stay, add redrive_policy=accept to the URL"
    )
    return Finding("redrive_too_soon", Severity.CRITICAL, f"queue {queue}", evidence, remedy)


async def _is_gone(session: Session, name: str) -> bool:
    try:
        await session.call("sqs", "get_queue_url", session.options.place, QueueName=name)
    except QueueMissing:
        return True
    except TenureError:
        return False  # another account's, or not to be asked
    return False


def _rights(session: Session, looked: Sequence[_Looked]) -> Examination:
    findings = [
        Finding(
            "permission_missing",
            Severity.CRITICAL,
            f"queue {one.queue}",
            f"these credentials may not do {', '.join(one.denied)} there",
            "Grant it in the policy of this role or user (docs/how-to/run-on-sqs.md lists every right)",
        )
        for one in looked
        if one.denied
    ]
    return Examination(
        id="queue_rights", area=Area.ACCESS, title="rights on queues",
        seen="send, delete, change visibility and read attributes were tried" if session.calls else "",
        findings=tuple(findings),
    )  # fmt: skip


def _window(session: Session, looked: Sequence[_Looked]) -> Examination:
    kept = [
        int(one.attributes["MessageRetentionPeriod"]) for one in looked if "MessageRetentionPeriod" in one.attributes
    ]
    return examine_window(session.options.state_place, session.options.keep_seconds, float(max(kept)) if kept else None)


async def _forgetting(session: Session) -> Examination:
    """A table that was made by others may keep every row for ever."""
    options, title = session.options, "time to live"
    try:
        answer = await session.call("dynamodb", "describe_time_to_live", options.state_place, TableName=options.table)
    except (PermissionMissing, ConfigurationError) as error:
        return Examination(id="time_to_live", area=Area.STORE, title=title, unknown=str(error))
    said = answer["TimeToLiveDescription"]
    is_on = said.get("TimeToLiveStatus") in ("ENABLED", "ENABLING") and said.get("AttributeName") == "forget"
    findings: tuple[Finding, ...] = ()
    if not is_on:
        evidence = "it has no time to live: finished messages stay for ever, and are paid for"
        remedy = "Enable the time to live of the table on the attribute 'forget'"
        findings = (Finding("table_grows", Severity.WARNING, options.state_place, evidence, remedy),)
    return Examination(
        id="time_to_live", area=Area.STORE, title=title, seen="finished rows go by themselves" if is_on else "off",
        findings=findings,
    )  # fmt: skip
