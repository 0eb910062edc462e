"""TQ301: Azure's `update_message` without a timeout, which shows the message at once."""

from collections.abc import Iterator

from tenure.audit.module import Module
from tenure.audit.queue_calls import queue_calls
from tenure.audit.rule import Hit


def updates_without_timeout(module: Module) -> Iterator[Hit]:
    """Yield the findings of TQ301."""
    for call in queue_calls(module):
        is_update = call.vendor == "azure" and call.verb == "update_message"
        if is_update and call.timeout is None and not call.is_open:
            yield Hit("TQ301", call.node, f"{call.name} sends a visibility timeout of 0, because it sets none")
