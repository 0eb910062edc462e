"""More of the invented store: single messages with their lives, events, acts, settings."""

# ruff: noqa: E501 - one row of data a line, however long

from typing import Any

import msgspec
from tests.dashboard import invented_store
from tests.dashboard.invented_store import DEAD_ID, NOW, OVERDUE_ID, TRACEBACK

from tenure.client.operations.acts import ActEntry, ActList
from tenure.client.operations.events import EventEntry, EventPage
from tenure.client.operations.life import Step
from tenure.client.operations.message_detail import MessageDetail
from tenure.client.operations.message_status import MessageStatus
from tenure.client.operations.settings import SettingInForce, SettingList
from tenure.event import EventKind
from tenure.handler_stack import FrameKind, FrameStack, HandlerStack, Place, RunPhase, StackFrame
from tenure.message import Counters, Message, MessageState
from tenure.record import Progress
from tenure.verdict import Reason

_BODY = msgspec.Raw(
    b'{"match":"4711","source":"blob://raw/2026-11-17/match-4711.mkv","bytes":4402341478,"checksum":12345678901234567890,"ladder":[1080,720,480]}'
)


def overdue_message() -> MessageDetail:
    """A long run on its second worker, whose lease has just ended."""
    message = Message(
        id=OVERDUE_ID, queue="transcode", task="transcode", body=_BODY, key="match-4711", client="southhaven",
        correlation_id="match-4711", parent_id="01a1e8d07b0d1c22aa8701fe55a022c1", headers={"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"},
        sent_at=NOW - 2055,
    )  # fmt: skip
    life = (
        Step(at=NOW - 2055, what="sent"),
        Step(at=NOW - 1901, what="crashed", owner="gpu-2/4398aa01", reason=Reason("crashed", "its process was killed (SIGKILL); seen by its supervisor")),
    )  # fmt: skip
    return _detail(
        message, MessageState.LEASED, life, counters=Counters(deliveries=2, crashes=1), owner="gpu-3/9f21b0b0", fence=88_231,
        deadline_in=-4.2, progress=Progress(0.88, "muxing audio"), usual_seconds=1440.0, size=4_402_341_478.0, attempt=1,
    )  # fmt: skip


def dead_message() -> MessageDetail:
    """Three attempts, each of them told."""
    body = msgspec.Raw(b'{"to":"ada@example.org","subject":"Your order 4711","body":"Thank you."}')
    message = Message(id=DEAD_ID, queue="mail", task="send_mail", body=body, client="southhaven", sent_at=NOW - 152)
    failed = Reason("error", "SMTPServerDisconnected: Connection unexpectedly closed", "", "SMTPServerDisconnected")
    reason = Reason(
        "max_attempts",
        "gave up after 3 of 3 attempts; the last one: SMTPServerDisconnected: Connection unexpectedly closed",
        TRACEBACK,
        "SMTPServerDisconnected",
    )
    life = (
        Step(at=NOW - 152, what="sent"),
        Step(at=NOW - 148.9, what="failed", owner="web-1/77aa10ff", reason=failed, attempt=1, seconds=2.9, after_seconds=4.0),
        Step(at=NOW - 141.2, what="failed", owner="web-2/c0de5511", reason=failed, attempt=2, seconds=3.1, after_seconds=16.0),
        Step(at=NOW - 120.0, what="dead", owner="web-1/77aa10ff", reason=reason, attempt=3, seconds=4.8),
    )  # fmt: skip
    return _detail(
        message, MessageState.DEAD, life, counters=Counters(3, 3), finished_at=NOW - 120, reason=reason, attempt=3
    )


def _detail(message: Message, state: MessageState, life: tuple[Step, ...], **more: Any) -> MessageDetail:
    given: dict[str, Any] = {
        "id": message.id, "queue": message.queue, "task": message.task, "state": state, "counters": Counters(), "owner": None,
        "fence": None, "sent_at": message.sent_at, "finished_at": None, "deadline_in": None, "due_in": None, "result": None,
        "reason": None, "progress": None, "history": (), "body": message.body, "kept_payload": None,
        "raw": msgspec.json.encode(message).decode(), "message": message, "life": life, "paused": None, "limit": None,
        "waits_for_limit": False, "size": None, "usual_seconds": None,
    }  # fmt: skip
    return MessageDetail(**{**given, **more})


def stack() -> HandlerStack:
    """What the long run does now."""
    frames = (
        StackFrame("jobs/media.py", 88, "transcode"), StackFrame("jobs/media.py", 41, "mux"),
        StackFrame("subprocess.py", 1264, "wait", FrameKind.LIBRARY), StackFrame("subprocess.py", 2053, "_wait", FrameKind.LIBRARY),
    )  # fmt: skip
    return HandlerStack(
        id=OVERDUE_ID, queue="transcode", task="transcode", owner="gpu-3/9f21b0b0", taken_at=NOW - 2, phase=RunPhase.RUNNING,
        runs_in=Place.THREAD, pid=4711, running_seconds=1900.0, stack=FrameStack(frames), memory_bytes=412_000_000,
        progress=Progress(0.88, "muxing audio"), progress_age_seconds=5.0,
    )  # fmt: skip


def events() -> EventPage:
    """The newest of the journal, of many kinds."""
    told: list[tuple[float, EventKind, dict[str, Any]]] = [
        (880, EventKind.OWNER_JOINED, {"owner": "gpu-3/9f21b0b0"}),
        (840, EventKind.PAUSED, {"queue": "reports", "data": {"by": "ops", "triggered_by": "cli"}}),
        (260, EventKind.TICKED, {"queue": "collector", "task": "collect", "message_id": "01a1ea3044", "data": {"schedule": "collect-feeds"}}),
        (148.9, EventKind.RETRIED, {"queue": "mail", "task": "send_mail", "message_id": DEAD_ID, "owner": "web-1/77aa10ff", "attempt": 1, "seconds": 2.9,
                                    "data": {"after_seconds": 4.0, "code": "error", "reason": "SMTPServerDisconnected: Connection unexpectedly closed"}}),
        (141.2, EventKind.RETRIED, {"queue": "mail", "task": "send_mail", "message_id": DEAD_ID, "owner": "web-2/c0de5511", "attempt": 2, "seconds": 3.1,
                                    "data": {"after_seconds": 16.0, "code": "error", "reason": "SMTPServerDisconnected: Connection unexpectedly closed"}}),
        (120, EventKind.DEAD, {"queue": "mail", "task": "send_mail", "message_id": DEAD_ID, "owner": "web-1/77aa10ff", "attempt": 3, "seconds": 4.8,
                               "data": {"code": "max_attempts", "reason": "gave up after 3 of 3 attempts; the last one: SMTPServerDisconnected: Connection unexpectedly closed"}}),
        (96, EventKind.SNOOZED, {"queue": "southhaven-tasks", "task": "ingest", "message_id": "01a1ea0011", "owner": "web-2/c0de5511", "data": {"after_seconds": 60.0, "reason": "the service says later"}}),
        (61, EventKind.LOOP_BLOCKED, {"owner": "web-2/c0de5511", "data": {"seconds": 1.4}}),
        (40, EventKind.OWNER_RETIRED, {"owner": "gpu-4/0badcafe", "data": {"proof": "its process has ended (exit -9)", "count": 1}}),
        (39.8, EventKind.REQUEUE, {"queue": "transcode", "data": {"count": 1, "dlq_count": 0, "ids": [OVERDUE_ID], "triggered_by": "retirement"}}),
        (12, EventKind.CANCELLED, {"queue": "markdown", "data": {"count": 3, "ids": [], "by": "ada", "triggered_by": "http"}}),
        (4, EventKind.LEASE_LOST, {"queue": "transcode", "task": "transcode", "message_id": OVERDUE_ID, "owner": "gpu-3/9f21b0b0", "seconds": 1895.0, "data": {"code": "overdue"}}),
    ]  # fmt: skip
    entries = [
        EventEntry(seq=4700 + place, kind=kind, at=NOW - ago, **fields)
        for place, (ago, kind, fields) in enumerate(told)
    ]
    return EventPage(events=tuple(entries), after=4712, before=4700, first=1, last=4711, gap=False)


#: The last ticks of `invoices`, oldest first: when it was due (06:00 in Berlin), and what became of its message.
_TICKS = (
    ("01a0800b00", 1785556800.0, MessageState.COMPLETED), ("01a0900b00", 1788235200.0, MessageState.COMPLETED),
    ("", 1790827200.0, None), ("01a0b00b00", invented_store.INVOICED_AT, MessageState.DEAD),
)  # fmt: skip


def ticks() -> EventPage:
    """Those of one schedule; one of them was skipped."""
    entries = [
        EventEntry(
            seq=100 + place,
            kind=EventKind.TICKED,
            at=at,
            queue="mail",
            task="send_mail",
            message_id=id or None,
            data={"schedule": "invoices", "missed": False},
        )
        for place, (id, at, _) in enumerate(_TICKS)
    ]
    return EventPage(events=tuple(entries), after=4712, before=None, first=1, last=4711, gap=False)


def statuses() -> dict[str, MessageStatus]:
    """Of the messages of these ticks."""
    return {
        id: MessageStatus(
            id=id, queue="mail", task="send_mail", state=state, attempt=1, counters=Counters(1), owner=None,
            sent_at=at, finished_at=at + 4, deadline_in=None, due_in=None, reason=None,
            progress=None,
        )
        for id, at, state in _TICKS
        if state is not None
    }  # fmt: skip


def acts() -> ActList:
    """Who did what."""
    rows = [
        ActEntry(seq=31, kind="cancelled", at=NOW - 12, by="ada", triggered_by="http", source="203.0.113.7", queue="markdown", count=3, ids=(), data={}),
        ActEntry(seq=30, kind="redriven", at=NOW - 700, by="ops@bastion", triggered_by="cli", source="", queue="mail", count=12, ids=(), data={}),
        ActEntry(seq=29, kind="paused", at=NOW - 840, by="ops", triggered_by="cli", source="", queue="reports", count=0, ids=(), data={}),
        ActEntry(seq=28, kind="stack_read", at=NOW - 3000, by="ada", triggered_by="http", source="203.0.113.7", queue="transcode", count=1, ids=(OVERDUE_ID,), data={}),
        ActEntry(seq=27, kind="purged", at=NOW - 90_000, by="grace", triggered_by="http", source="198.51.100.4", queue="default-tasks", count=1204, ids=(), data={}),
    ]  # fmt: skip
    return ActList(acts=tuple(rows), before=None)


def settings() -> SettingList:
    """What is in force."""
    rows: list[tuple[str, str | int | None, str, str]] = [
        ("url", "redis://queue-1:6379/0", "environment", "TENURE_URL"), ("client", "southhaven", "environment", "CLIENT_ID"), ("lease_seconds", 30, "default", "TENURE_LEASE"),
        ("max_attempts", 5, "environment", "MAX_ATTEMPTS"), ("sweep_batch", 100, "default", "TENURE_SWEEP_BATCH"), ("sweep_interval_seconds", 5, "default", "TENURE_SWEEP_INTERVAL"),
        ("journal_keep_seconds", 604800, "default", "TENURE_JOURNAL_KEEP"), ("secret_key", "…", "environment", "TENURE_SECRET_KEY"), ("claim_check", None, "default", "TENURE_CLAIM_CHECK"),
    ]  # fmt: skip
    return SettingList(
        settings=tuple(
            SettingInForce(name=name, value=value, source=source, variable=variable)
            for name, value, source, variable in rows
        )
    )
