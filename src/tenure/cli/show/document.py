"""The life of a message as a JSON document, for programs."""

import base64

import msgspec

from tenure.cli.show.fetching import Found


def document(found: Found) -> dict[str, object]:
    """The record, the message with its body, its life, and whether its queue is paused."""
    record, seen = found.record, found.seen
    shown: dict[str, object] = msgspec.to_builtins(record)
    shown["result"] = None if record.result is None else msgspec.Raw(record.result or b"null")
    shown["body"] = shown["raw"] = shown["message"] = None
    if seen is not None:
        raw = seen.browsed.envelope
        # Bytes that are no envelope may be no text either: base64 says exactly what is there.
        shown["raw"] = base64.b64encode(raw).decode() if seen.message is None else raw.decode()
        shown["message"] = seen.message
        shown["body"] = None if seen.message is None else seen.message.body
    shown["life"] = found.steps
    shown["paused"] = found.pause
    return shown
