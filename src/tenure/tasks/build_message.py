"""The message that a call becomes: every option of a submit is read here, and refused if it makes no sense.

Before: `Call` (`call.py`), by `app.submit`, `ctx.submit` or a schedule. After: `Broker.send`.
"""

import hashlib
from datetime import UTC, datetime
from typing import cast

import msgspec

from tenure.call import Call, Options, check_options
from tenure.errors import BadArgument
from tenure.given import MOST_ATTEMPTS, is_queue, is_whole, seconds
from tenure.message import DEFAULT_PRIORITY, MAX_PRIORITY, Message, Outgoing, Overrides


def outgoing(call: Call[object], options: Options, *, id: str, client: str | None, sent_at: float,
             parent: Message | None = None) -> Outgoing:  # fmt: skip
    """The message that a call becomes. A parent hands on its correlation."""
    if call.options:
        options = cast("Options", {**call.options, **options})
    if not options and parent is None:  # the common case, kept short: bulk sends live here
        message = Message(
            id=id, queue=call.task.queue, task=call.task.name, body=call.body, client=client, sent_at=sent_at
        )
        return Outgoing(message)
    check_options(options)
    correlation_id = options.get("correlation_id")
    if correlation_id is None and parent is not None:
        correlation_id = parent.correlation_id or parent.id
    queue = _queue(options, call.task.queue)
    message = Message(
        id=_own_id(options, queue) or id,
        queue=queue,
        task=call.task.name,
        body=call.body,
        priority=_priority(options.get("priority", DEFAULT_PRIORITY)),
        key=options.get("key"),
        unique=_unique(options, call.body),
        client=client,
        correlation_id=correlation_id,
        parent_id=parent.id if parent is not None else None,
        headers=options.get("headers") or {},
        sent_at=sent_at,
        expires_at=_expires_at(options, sent_at),
        overrides=_overrides(options),
    )
    window = options.get("unique_window")
    unique_seconds = None if window is None else seconds(window, "unique_window", least=0.001)
    delay = _delay(options, sent_at)
    if message.expires_at is not None and message.expires_at <= sent_at + delay:
        msg = "expires is not after the moment at which it may first run; nothing was sent"
        raise BadArgument(msg)
    return Outgoing(message, delay, unique_seconds)


def _queue(options: Options, own: str) -> str:
    """The task's own queue, or another one of the same namespace."""
    if "queue" not in options:
        return own
    name = options["queue"]
    namespace, slash, _ = own.rpartition("/")
    if not is_queue(name):
        msg = f"queue={name!r} cannot name a queue; use letters, digits, dots, dashes and _. Nothing was sent"
        raise BadArgument(msg)
    return f"{namespace}{slash}{name}"


def _own_id(options: Options, queue: str) -> str | None:
    """The id that the sender chose; within a namespace it is nobody else's."""
    id = options.get("id")
    namespace, slash, _ = queue.rpartition("/")
    return id if id is None or id.startswith(f"{namespace}{slash}") else f"{namespace}/{id}"


def _delay(options: Options, now: float) -> float:
    at = options.get("at")
    if at is None:
        return seconds(options.get("delay", 0.0), "delay")
    if "delay" in options:
        msg = "delay and at both say when; give one of them. Nothing was sent"
        raise BadArgument(msg)
    # A moment that has passed is now: a sender that was slow, or whose clock is behind, means just that.
    return seconds(max(0.0, _moment(at, "at") - now), "at")


def _expires_at(options: Options, now: float) -> float | None:
    expires = options.get("expires")
    if expires is None:
        return None
    if not isinstance(expires, datetime):
        return now + seconds(expires, "expires", least=0.001)
    moment = _moment(expires, "expires")
    if moment <= now:
        by = datetime.fromtimestamp(now, UTC).isoformat(timespec="seconds")
        msg = f"expires={expires!r} has passed already: by the store's clock it is {by}; nothing was sent"
        raise BadArgument(msg)
    return moment


def _moment(value: object, name: str) -> float:
    """A point in time as the user gave it, as wall time. A naive one could mean several."""
    if not isinstance(value, datetime):
        msg = f"{name}={value!r} is not a datetime; nothing was sent"
        raise BadArgument(msg)
    if value.utcoffset() is None:
        msg = (
            f"{name}={value!r} has no time zone, so it names no moment: use datetime(…, tzinfo=UTC) or "
            "datetime.now(UTC) + …; nothing was sent"
        )
        raise BadArgument(msg)
    return value.timestamp()


def _unique(options: Options, body: msgspec.Raw) -> str | None:
    unique: object = options.get("unique")
    if unique is None:
        if "unique_window" in options:
            msg = "unique_window says nothing without unique; nothing was sent"
            raise BadArgument(msg)
        return None
    if unique is True:
        return f"payload:{hashlib.sha256(bytes(body)).hexdigest()}"
    if not isinstance(unique, str) or not unique:
        msg = f"unique={unique!r} is neither a word nor True; nothing was sent"
        raise BadArgument(msg)
    return f"word:{unique}"


def _priority(value: int) -> int:
    if not is_whole(value, 0, MAX_PRIORITY):
        msg = f"priority={value!r} is not a whole number from 0 to {MAX_PRIORITY}; nothing was sent"
        raise BadArgument(msg)
    return value


def _overrides(options: Options) -> Overrides:
    lease, hold, attempts = options.get("lease"), options.get("max_hold"), options.get("max_attempts")
    if attempts is not None and not is_whole(attempts, 1, MOST_ATTEMPTS):
        msg = f"max_attempts={attempts!r} is not a whole number of at least 1; nothing was sent"
        raise BadArgument(msg)
    return Overrides(
        lease_seconds=None if lease is None else seconds(lease, "lease", least=0.05),
        max_attempts=attempts,
        max_hold_seconds=None if hold is None else seconds(hold, "max_hold", least=0.001),
    )
