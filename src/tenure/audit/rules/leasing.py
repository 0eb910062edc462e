"""TQ101 to TQ104: how long a receive asks for, who decided that, and for how many messages.

With a heartbeat the lease is only the crash window, so a short number in the code is right, and a batch is held.
"""

import ast
from collections.abc import Iterator

from tenure.audit.leases import (
    CRASH_WINDOW_SECONDS,
    DEFAULT_SECONDS,
    advised_seconds,
    batch_size,
    calculated,
    has_heartbeat,
    is_sized_for_one,
    service_of,
    written,
)
from tenure.audit.module import Module
from tenure.audit.queue_calls import CallKind, QueueCall, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.trace import Happening, Trace, What, traces
from tenure.audit.tree import last_name
from tenure.timing.margin import FLOOR_SECONDS


def _receives(module: Module) -> Iterator[QueueCall]:
    """Return the receives that lease messages for a time.

    Streams of Redis have no such time, and a peek leases nothing.
    """
    for call in queue_calls(module):
        is_peek = call.timeout is not None and module.seconds(call.timeout) == 0
        if call.kind is CallKind.RECEIVE and call.vendor != "redis" and not is_peek:
            yield call


def hard_coded(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ101."""
    for call in _receives(module):
        seconds = module.seconds(call.timeout)
        if call.timeout is None or seconds is None:
            continue
        if not has_heartbeat(module):
            yield Hit("TQ101", call.node, f"{_said(call, seconds)}, whatever the work takes")
        elif seconds > CRASH_WINDOW_SECONDS:
            why = "a heartbeat holds the message, so a crashed worker's waits that long for nothing"
            yield Hit("TQ101", call.node, f"{_said(call, seconds)}: {why}")


def _said(call: QueueCall, seconds: float) -> str:
    named = f" ({written(call.timeout)})" if call.timeout and not isinstance(call.timeout, ast.Constant) else ""
    return f"{call.name} asks for {seconds:g} s{named}"


def without_timeout(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ102."""
    used = {step.node for trace in traces(module) if _uses(trace) for step in trace.of(What.RECEIVE)}
    for call in _receives(module):
        # A file that sets the queue's own timeout has decided.
        is_decided = (
            call.is_open or has_heartbeat(module) or (call.vendor == "sqs" and module.says("VisibilityTimeout"))
        )
        if call.timeout is None and call.node in used and not is_decided:
            default = (
                "the queue's own timeout, 30 s unless the queue was made with another"
                if call.vendor == "sqs"
                else "30 s"
            )
            yield Hit("TQ102", call.node, f"{call.name} sets no timeout, and gets {default}")


def _uses(trace: Trace) -> bool:
    """Whether something becomes of the messages; a look at a queue needs no lease."""
    return trace.hands_on or bool(trace.of(What.WORK, What.STARTED, What.DELETE))


def zero_timeouts(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ104."""
    deleted = {step.node for trace in traces(module) if trace.of(What.DELETE) for step in trace.of(What.RECEIVE)}
    for call in queue_calls(module):
        is_zero = call.timeout is not None and module.seconds(call.timeout) == 0
        if call.kind is CallKind.RECEIVE and is_zero and call.node in deleted:
            yield Hit("TQ104", call.node, f"{call.name} asks for 0 s: another worker gets the message at once")
    for node in module.calls:
        value = _queue_timeout(node)
        if value is not None and module.seconds(value) == 0:
            yield Hit("TQ104", node, f"{last_name(node)} gives the queue a timeout of 0 s")


def _queue_timeout(call: ast.Call) -> ast.expr | None:
    """The timeout that a queue is made with, if it can be seen here."""
    if last_name(call) not in ("create_queue", "set_queue_attributes", "set_attributes"):
        return None
    given = next((one.value for one in call.keywords if one.arg == "Attributes"), None)
    if not isinstance(given, ast.Dict):
        return None
    pairs = zip(given.keys, given.values, strict=True)
    return next(
        (value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "VisibilityTimeout"), None
    )


def batches(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ103."""
    if has_heartbeat(module):
        return
    for trace in traces(module):
        if trace.of(What.EXTEND):  # each message's lease is set again when its turn comes
            continue
        for step in trace.of(What.RECEIVE):
            call = step.call
            if call is None or call.vendor == "redis" or call.is_open or batch_size(module, call) == 1:
                continue
            work = _one_by_one(trace.of(What.WORK, What.STARTED), step)
            reason = _too_short(module, call)
            if work is not None and reason:
                text = f"{batch_size(module, call)} messages, run one by one in line {work.node.lineno}, on {reason}"
                yield Hit("TQ103", call.node, text)


def _one_by_one(steps: list[Happening], receive: Happening) -> Happening | None:
    """Work on a message in a loop below the receive, if nothing is started to run beside it."""
    loops = {one for step in steps for one, part in step.around if isinstance(one, ast.For | ast.AsyncFor)}
    loops -= {one for one, _ in receive.around}
    for loop in loops:
        inside = [step for step in steps if step.is_in(loop, "body")]
        if inside and not any(step.what is What.STARTED for step in steps):
            return inside[0]
    return None


def _too_short(module: Module, call: QueueCall) -> str:
    """Why the timeout is for one message; empty: it may be for all."""
    size = batch_size(module, call)
    if is_sized_for_one(calculated(module, call)):
        return "a timeout that is calculated for one"
    seconds = DEFAULT_SECONDS if call.timeout is None else module.seconds(call.timeout)
    if not seconds:  # not known, or a look that wants no lease
        return ""
    service = service_of(module)
    needed = advised_seconds(service, size) if service else FLOOR_SECONDS * size
    whose = f" of {service}" if service else ", at 30 s each,"
    return f"a lease of {seconds:g} s: {size} runs{whose} need {needed:g} s" if seconds < needed else ""
