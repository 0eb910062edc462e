"""Redaction of answers, for people who may see metadata but no payloads. Pure.

Left out are bodies, results, headers, and every text that a handler, a sender or an exception wrote. Codes, names,
times and counts stay. Of an event's data only known fields stay: a new one is left out until it is named here.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.dead_groups import DeadGroup
from tenure.client.operations.life import Step
from tenure.client.operations.listed_message import ListedMessage
from tenure.client.operations.message_detail import MessageDetail
from tenure.client.operations.resend import EditResult
from tenure.errors import BadArgument
from tenure.message import Message
from tenure.query import HeldLease
from tenure.record import Ending, Progress
from tenure.verdict import Reason

#: Fields of an event's data that say nothing of what a message carries.
SAFE_DATA = frozenset({
    "after_seconds", "attempts", "by", "code", "count", "delete", "deleted", "dlq_count",
    "estimated_processing_seconds", "file_size_bytes", "file_size_mb", "ids", "left", "missed", "new_id",
    "outcome", "outcomes", "paused", "payload_bytes", "proof", "resolved", "running", "schedule",
    "scheduled_for", "seconds", "snoozes", "state", "success_rate", "to", "total", "triggered_by",
})  # fmt: skip
_NO_BODY = msgspec.Raw(b"null")


def check_text(access: Access, text: str | None) -> None:
    """Refuse a text search without the right to see payloads: a search would reveal them letter by letter."""
    if text is not None and not access.sees_payload:
        msg = "text= searches payloads and reasons, which need the scope `payload`; leave it out"
        raise BadArgument(msg)


def safe_data(data: Mapping[str, Any]) -> dict[str, Any]:
    """An event's data without texts."""
    return {name: value for name, value in data.items() if name in SAFE_DATA}


def without_note(lease: HeldLease) -> HeldLease:
    """A lease without what its handler says beside its progress."""
    return msgspec.structs.replace(lease, progress=_progress(lease.progress))


def redacted_listed(message: ListedMessage) -> ListedMessage:
    """A message of a list, as metadata."""
    reason = message.reason
    return msgspec.structs.replace(
        message,
        reason=None if reason is None else msgspec.structs.replace(reason, text=None),
        progress=_progress(message.progress),
        unreadable="",
        redacted=True,
    )


def redacted_detail(message: MessageDetail) -> MessageDetail:
    """Reduce one message to its metadata."""
    return msgspec.structs.replace(
        message,
        result=None,
        body=None,
        raw=None,
        kept_payload=None,
        unreadable="",
        message=None if message.message is None else _message(message.message),
        reason=_reason(message.reason),
        progress=_progress(message.progress),
        history=tuple(map(_ending, message.history)),
        life=tuple(map(_step, message.life)),
        redacted=True,
    )


def redacted_group(group: DeadGroup) -> DeadGroup:
    """A group of dead letters, as metadata."""
    return msgspec.structs.replace(group, text=None, traceback=None, redacted=True)


def redacted_edit(edit: EditResult) -> EditResult:
    """An edit without the values that it changed."""
    changes = tuple(msgspec.structs.replace(one, before=None, after=None) for one in edit.changes)
    return msgspec.structs.replace(edit, changes=changes, redacted=True)


def _message(message: Message) -> Message:
    return msgspec.structs.replace(message, body=_NO_BODY, headers={}, unique=None)


def _reason(reason: Reason | None) -> Reason | None:
    return None if reason is None else msgspec.structs.replace(reason, text="", traceback="")


def _progress(progress: Progress | None) -> Progress | None:
    return None if progress is None else msgspec.structs.replace(progress, note="")


def _ending(ending: Ending) -> Ending:
    return msgspec.structs.replace(ending, reason=_reason(ending.reason))


def _step(step: Step) -> Step:
    return msgspec.structs.replace(step, reason=_reason(step.reason), data=safe_data(step.data))
