"""TQ209: a group of a stream whose entries are never claimed: what a dead consumer held stays with it."""

import ast
from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.queue_calls import CallKind, QueueCall, queue_calls
from tenure.audit.rule import Hit
from tenure.audit.trace import What, traces
from tenure.audit.tree import last_name

_CLAIMS = ("xautoclaim", "xclaim", "xpending")


def never_reclaimed(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ209: only in files that acknowledge and look at nothing but what is new."""
    calls = [call for call in queue_calls(module) if call.vendor == "redis"]
    reads = [call for call in calls if call.verb == "xreadgroup"]
    if not any(call.kind is CallKind.DELETE for call in calls) or not all(
        _reads_new_ones(module, one) for one in reads
    ):
        return
    if any(word in last_name(call).lower() for call in module.calls for word in _CLAIMS) or _says_claim(module):
        return
    worked_on = {step.node for trace in traces(module) if trace.of(What.WORK) for step in trace.of(What.RECEIVE)}
    for call in reads:
        if call.node in worked_on and call.word("noack") is None:
            yield Hit(
                "TQ209", call.node, f"{call.name} reads what is new, and nothing in this file claims what is pending"
            )


def _says_claim(module: Module) -> bool:
    """Whether it is done by a command as text: `execute_command("XAUTOCLAIM", …)`."""
    return any(module.says(text) for word in _CLAIMS for text in (word, word.upper()))


def _reads_new_ones(module: Module, call: QueueCall) -> bool:
    """Whether it asks for `>` of every stream, as far as that can be seen."""
    streams = call.words.get("streams")
    if isinstance(streams, ast.Name | ast.Attribute):
        bound = module.bound(streams)
        streams = bound[0] if len(bound) == 1 and not module.is_changed(streams) else None
    return isinstance(streams, ast.Dict) and all(module.constant(value) == ">" for value in streams.values)
