"""The baseline: every queue operation of a module with its timeout, and what to do instead.

The list that one makes before changing anything: where messages are received, on which lease, and who deletes them.
"""

from tenure.audit.leases import (
    advised_seconds,
    batch_size,
    calculated,
    has_heartbeat,
    is_sized_for_one,
    service_of,
    written,
)
from tenure.audit.module import Module
from tenure.audit.queue_calls import POPS, SAFE_DELETERS, CallKind, QueueCall, queue_calls
from tenure.audit.region import Text
from tenure.audit.report import Operation


def operations(module: Module, text: Text) -> list[Operation]:
    """A row for every call, in the order of the text."""
    calls = queue_calls(module)
    service = service_of(module) if calls else None
    return [_row(module, text, call, service) for call in calls]


def _row(module: Module, text: Text, call: QueueCall, service: str | None) -> Operation:
    seconds, timeout = _timeout(module, call)
    return Operation(
        kind=call.kind.value,
        vendor=call.vendor,
        call=call.name,
        path=module.path,
        line=call.node.lineno,
        column=text.column(call.node.lineno, call.node.col_offset),
        timeout_seconds=seconds,
        timeout=timeout,
        service=service,
        recommendation=_recommendation(module, call, service),
    )


def _timeout(module: Module, call: QueueCall) -> tuple[float | None, str]:
    if call.kind in (CallKind.DELETE, CallKind.SEND) or call.vendor == "redis":
        return None, "–"
    if call.timeout is None:
        return None, "not known" if call.is_open else "0 s" if call.kind is CallKind.EXTEND else "default"
    seconds = module.seconds(call.timeout)
    return seconds, f"{seconds:g} s" if seconds is not None else written(call.timeout, 32)


def _recommendation(module: Module, call: QueueCall, service: str | None) -> str:  # noqa: PLR0911 - one a kind
    match call.kind:
        case CallKind.RECEIVE:
            return _lease(module, call, service)
        case CallKind.DELETE if call.vendor == "redis":
            return "after the work"
        case CallKind.DELETE:
            return "as it is" if call.verb in SAFE_DELETERS else "delete_message_with_retry"
        case CallKind.EXTEND if call.vendor == "redis":
            return "check the owner first: XCLAIM takes from any owner"
        case CallKind.EXTEND if call.timeout is not None and module.seconds(call.timeout) == 0:
            return "as it is: gives the message back"
        case CallKind.EXTEND:
            return "VisibilityHeartbeat"
    return "–"


def _lease(module: Module, call: QueueCall, service: str | None) -> str:
    if call.verb in POPS:
        return "a stream: what is popped is gone"
    if call.vendor == "redis":
        return "xautoclaim what the dead hold, or Tenure on Redis: a stream has no lease"
    if has_heartbeat(module):
        return "30 s, held by the heartbeat"
    size = batch_size(module, call)
    if service is not None:
        each = f" for {size} in a row" if size > 1 else ""
        return f"{advised_seconds(service, size)} s{each} ({service}), or 30 s and VisibilityHeartbeat"
    if size == 1 and is_sized_for_one(calculated(module, call)):
        return "as it is"
    return "30 s and VisibilityHeartbeat; or measure, and calculate_visibility_timeout"
