"""The bytes of a stream: Server-Sent Events whose data has the form that dashboards know. Pure.

    id: 4711
    data: {"type": "requeue", "timestamp": 1704067200000, "payload": {"queue": "mail", "count": 3, "dlq_count": 0}}

`id` is the event's place in the journal, so it means the same on every server of a store and after a restart. The data
is one line of JSON, in which control characters are escaped: no value from a message can end the line, so none can
begin a field or an event of its own.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from tenure.client.operations.redaction import safe_data
from tenure.event import Event, StoredEvent
from tenure.server.events.event_rights import EventRights

#: Browsers come back after so long when a stream ends.
RETRY_MS = 2_000
_encode = msgspec.json.Encoder().encode


Hide = Callable[[bytes], bytes]


class EncodedEvent:
    """An event and its bytes, made once for all who may see as much of it."""

    __slots__ = ("_hide", "_open", "_redacted", "event", "seq")

    def __init__(self, stored: StoredEvent, hide: Hide | None = None) -> None:
        """Keep the event; it is encoded when first wanted. `hide` removes redacted values from a JSON document."""
        self._hide = hide
        self.seq = stored.seq
        self.event = stored.event
        self._open: bytes | None = None
        self._redacted: bytes | None = None

    @property
    def weight(self) -> int:
        """About how many bytes it takes."""
        data = self.event.data
        return _LEAST_WEIGHT + (sum(map(_weight, data.values())) if data else 0)

    def block(self, rights: EventRights) -> bytes:
        """The event as a block of the stream, with as much of it as `rights` allow."""
        if rights.sees_payload:
            if self._open is None:
                self._open = _event_block(self.seq, self._shown(), redacts=False)
            return self._open
        if self._redacted is None:
            self._redacted = _event_block(self.seq, self.event, redacts=True)
        return self._redacted

    def _shown(self) -> Event:
        """The event without the redacted values."""
        if self._hide is None or "payload" not in self.event.data:
            return self.event
        data = msgspec.json.decode(self._hide(_encode(self.event.data)))
        return msgspec.structs.replace(self.event, data=data)


_LEAST_WEIGHT = 500


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return 2 * len(value)
    return 100 * len(value) if isinstance(value, list | tuple | dict) else 0


def payload_of(event: Event, *, redacts: bool) -> dict[str, Any]:
    """Make one flat document of the event; with `redacts` without payloads and texts of errors."""
    data = event.data
    shown = safe_data(data) if redacts else dict(data)
    if len(shown) < len(data):
        shown["redacted"] = True
    for name in _FIELDS:
        value = getattr(event, name)
        if value is not None:
            shown[name] = value
    return shown


_FIELDS = ("queue", "task", "message_id", "owner", "attempt", "seconds")


def _event_block(seq: int, event: Event, *, redacts: bool) -> bytes:
    try:
        return block(event.kind, event.at, payload_of(event, redacts=redacts), id=seq)
    except (UnicodeEncodeError, msgspec.MsgspecError, TypeError, RecursionError):
        # One event that is no JSON, as memory:// may hold it, must not end every stream.
        return block(event.kind, event.at, {"unreadable": True}, id=seq)


def block(kind: str, at: float, payload: Any, *, id: int | None = None, name: str = "") -> bytes:
    """Make one block: `data` in the seed's form; with `id`, a client that comes back goes on behind it.

    `name`: of the SSE event, for what is no event of the journal. Browsers give what has none to `onmessage`.
    """
    data = _encode({"type": kind, "timestamp": int(at * 1000), "payload": payload})
    before = b"" if id is None else b"id: %d\n" % id
    if name:
        before += b"event: " + name.encode() + b"\n"
    return before + b"data: " + data + b"\n\n"


def opening(place: int, retry_ms: int = RETRY_MS) -> bytes:
    """How a stream begins: when to come back, and from where on.

    A block without data is no event: it only sets what the client sends as `Last-Event-ID`.
    """
    return b"retry: %d\nid: %d\n\n" % (retry_ms, place)


def heartbeat(place: int) -> bytes:
    """Make a heartbeat: it keeps the connection open, and remembers how far the journal was looked through."""
    return b": heartbeat\nid: %d\n\n" % place


def closing(place: int, retry_ms: int = RETRY_MS) -> bytes:
    """The last block of a stream that the server ends."""
    return b": closing\n" + opening(place, retry_ms)


def gap(after: int, first: int, at: float, *, reason: str) -> bytes:
    """Say that events behind `after` and before `first` are missing. Carries no id: nothing was delivered."""
    payload = {"after": after, "first": first, "reason": reason, "what_to_do": _WHAT_TO_DO[reason]}
    return block("gap", at, payload)


#: Why events are missing.
FORGOTTEN, OTHER_JOURNAL, TOO_SLOW = "forgotten", "other_journal", "too_slow"
_WHAT_TO_DO = {
    FORGOTTEN: "reload what you show, then go on: these events are no longer in the journal (TENURE_JOURNAL_KEEP)",
    OTHER_JOURNAL: "reload what you show, then go on: the journal of this store started over",
    TOO_SLOW: "reconnect with Last-Event-ID, and read faster or ask for fewer events: this connection read too slowly",
}


def skipped(count: int, at: float, place: int) -> bytes:
    """Say how many completed messages were left out. Carries an id: they are not sent again."""
    return block("skipped", at, {"kind": "completed", "count": count}, id=place)


def away(code: str, at: float) -> bytes:
    """The store gives no answer, so silence means nothing until `back`."""
    return block("away", at, {"error": code})


def back(at: float) -> bytes:
    """The store answers again, and the stream goes on where it was."""
    return block("back", at, {})
