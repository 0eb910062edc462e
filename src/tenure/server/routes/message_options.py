"""The options of a message over HTTP: those of `app.submit`, with times in seconds or as RFC 3339."""

from datetime import datetime
from operator import attrgetter
from typing import Any, cast

import msgspec
from starlette.requests import Request

from tenure.errors import BadArgument
from tenure.server.errors import RequestInvalid
from tenure.tasks.call import Options

#: A client that repeats a request with the same one sends nothing twice.
IDEMPOTENCY_HEADER = "Idempotency-Key"
IDEMPOTENCY_MEANING = "Makes ids for entries without one, `KEY:0` and so on, so that a repeat stores nothing twice."
_LONGEST_KEY = 200

#: Names of options in Python, where they differ.
_NAMES = {
    "delay_seconds": "delay", "expires_seconds": "expires", "expires_at": "expires", "lease_seconds": "lease",
    "max_hold_seconds": "max_hold", "unique_window_seconds": "unique_window",
}  # fmt: skip


class MessageOptions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What one message may decide instead of its task."""

    #: The message's own id: sent again with it, no second message is stored. Default: a new one.
    id: str | None = None
    #: For whom the work is: a-z, 0-9 and single dashes. Default: the client whose queue it goes to, else the server's.
    client: str | None = None
    #: 0 to 9, the highest first; default: 5.
    priority: int | None = None
    #: Not before so long from now.
    delay_seconds: float | None = None
    #: Not before this moment (RFC 3339). Instead of `delay_seconds`.
    at: datetime | None = None
    #: A message that has not begun after so long becomes a dead letter.
    expires_seconds: float | None = None
    #: As a moment (RFC 3339), instead of `expires_seconds`.
    expires_at: datetime | None = None
    #: Work that is done once: a second message with the same key is not stored while the first waits or runs, nor for
    #: 7 days after it was completed.
    key: str | None = None
    #: If a message with the same value waits already, no second one is stored. True: the value is the payload.
    unique: str | bool | None = None
    #: For `unique`: a waiting message counts only if it was sent within this time.
    unique_window_seconds: float | None = None
    #: The lease of this message, instead of the task's.
    lease_seconds: float | None = None
    #: Failed attempts before it becomes a dead letter, instead of the task's.
    max_attempts: int | None = None
    #: How long its handler may run, instead of the task's.
    max_hold_seconds: float | None = None
    #: Texts by name, for your own use.
    headers: dict[str, str] | None = None
    #: What the message belongs to.
    correlation_id: str | None = None
    #: What is notified when it ends: the name of an endpoint, or a URL that an endpoint allows. Default: the task's.
    webhook: str | None = None


#: The values of them all. Most messages have none.
_values = attrgetter(*MessageOptions.__struct_fields__)
_NOTHING = _values(MessageOptions())
_FIELDS = tuple((name, _NAMES.get(name, name)) for name in MessageOptions.__struct_fields__)


def options_of(given: MessageOptions, id: str | None = None) -> Options:
    """Return the options as `submit` takes them. `id`: for a message without its own. Raises `BadArgument`."""
    if id is None and _values(given) == _NOTHING:
        return {}
    found: dict[str, Any] = {}
    for name, option in _FIELDS:
        value = getattr(given, name)
        if value is None:
            continue
        if option in found:
            msg = "expires_seconds and expires_at both say when it expires; give one of them. Nothing was sent"
            raise BadArgument(msg)
        found[option] = value
    if found.get("unique") is False:
        del found["unique"]
    if id is not None:
        found.setdefault("id", id)
    return cast("Options", found)


def idempotency_key(request: Request) -> str | None:
    """The request's own. None: it has none. Raises `RequestInvalid`."""
    key = request.headers.get(IDEMPOTENCY_HEADER)
    if key is not None and not (0 < len(key) <= _LONGEST_KEY and key.isascii() and key.isprintable()):
        msg = f"{IDEMPOTENCY_HEADER}: 1 to {_LONGEST_KEY} printable ASCII characters; nothing was sent"
        raise RequestInvalid(msg, field=IDEMPOTENCY_HEADER)
    return key
