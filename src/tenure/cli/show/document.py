"""The life of a message as a JSON document, for programs."""

import base64

import msgspec

from tenure.cli.show.fetching import Found


def document(found: Found) -> dict[str, object]:
    """The record, the message with its body, its life, and whether its queue is paused."""
    record, raw = found.record, found.record.envelope
    shown: dict[str, object] = msgspec.to_builtins(record)
    shown["result"] = None if record.result is None else msgspec.Raw(record.result or b"null")
    del shown["envelope"]
    if not found.is_counted:
        shown["counters"] = None
    shown["body"] = shown["raw"] = None
    shown["message"] = found.message
    if raw is not None:
        # Bytes that are no envelope may be no text either: base64 says exactly what is there.
        shown["raw"] = base64.b64encode(raw).decode() if found.message is None else raw.decode()
        shown["body"] = None if found.message is None else found.message.body
    kept = found.kept_payload
    shown["kept_payload"] = kept
    if kept is not None and kept.is_whole and raw is None:
        shown["body"] = msgspec.Raw(kept.text.encode())
    shown["life"] = found.steps
    shown["paused"] = found.pause
    shown["size"] = found.size
    shown["usual_seconds"] = found.usual_seconds
    return shown
