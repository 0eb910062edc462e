"""The advice of a finding, made to fit the code that it is given to.

A piece that must be awaited does nothing in a plain function: its delete would never be sent. Plain code is shown the
piece of `tenure.standalone.sync`. Streams of Redis have no visibility timeout, so `xack` is advised.
Used by `auditing.py`.
"""

import ast

from tenure.audit.module import Module
from tenure.audit.queue_calls import queue_calls
from tenure.audit.rule import Hit, Rule

#: They are coroutines in `tenure.standalone`, and plain in `tenure.standalone.sync`.
_PIECES = ("VisibilityHeartbeat", "delete_message_with_retry", "MessageDeduplicator", "MessageDeletionTracker")
_OF_STREAMS = {
    "TQ201": "Say xack after the work.",
    "TQ202": "Move the xack behind the work, into the `try` or its `else`, and let xautoclaim return a failed entry.",
    "TQ203": "Say xack after the work; what must not run twice is kept by its id, in the transaction of its effect.",
    "TQ204": "Log or count the error, and say xack again: an entry that stays pending is claimed, and done again.",
    "TQ210": "Add it to a stream of dead letters before the xack.",
}


def advice(module: Module, hit: Hit, rule: Rule) -> str:
    """What to do about one hit."""
    vendor = next((call.vendor for call in queue_calls(module) if call.node is hit.node), None)
    if vendor == "redis" and rule.id in _OF_STREAMS:
        return _OF_STREAMS[rule.id]
    if not any(piece in rule.remedy for piece in _PIECES):
        return rule.remedy
    is_async = isinstance(module.function_of(hit.node), ast.AsyncFunctionDef)
    where = "tenure.standalone, awaited" if is_async else "tenure.standalone.sync"
    return f"{rule.remedy} (In {where}.)"
