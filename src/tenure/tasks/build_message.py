"""The message that a call becomes: every option of a submit is read here, and refused if it makes no sense.

Before: `Call` (`call.py`), by `app.submit`, `ctx.submit` or a schedule. After: `Broker.send`.
"""

import hashlib
from datetime import UTC, datetime
from typing import cast

import msgspec

from tenure.announcement import WEBHOOK_TARGET
from tenure.errors import BadArgument
from tenure.message import DEFAULT_PRIORITY, MAX_PRIORITY, Message, Outgoing, Overrides
from tenure.rules.arguments import MOST_ATTEMPTS, is_queue, is_whole, seconds
from tenure.rules.client_queue import queue_of_client
from tenure.rules.reserved_queue import RESERVED_QUEUE
from tenure.tasks.call import Call, Callable_, Options, check_options


def outgoing(
    call: Call[object], options: Options, *, id: str, client: str | None, sent_at: float, parent: Message | None = None
) -> Outgoing:
    """The message that a call becomes. A parent hands on its correlation."""
    if call.options:
        options = cast("Options", {**call.options, **options})
    webhook = call.task.webhook
    if not options and parent is None and webhook is None:  # the common case, kept short: bulk sends live here
        message = Message(
            id=id, queue=call.task.queue, task=call.task.name, body=call.body, client=client, sent_at=sent_at
        )
        return Outgoing(message)
    check_options(options)
    correlation_id = options.get("correlation_id")
    if correlation_id is None and parent is not None:
        correlation_id = parent.correlation_id or parent.id
    client = options.get("client", client)
    queue = _queue(options, call.task, client, parent)
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
        announce=_announce(options.get("webhook", webhook)),
    )
    window = options.get("unique_window")
    unique_seconds = None if window is None else seconds(window, "unique_window", least=0.001)
    delay = _delay(options, sent_at)
    if message.expires_at is not None and message.expires_at <= sent_at + delay:
        msg = "expires is not after the moment at which it may first run; nothing was sent"
        raise BadArgument(msg)
    return Outgoing(message, delay, unique_seconds)


def destination(call: Call[object], options: Options) -> str:
    """The queue to which a call goes with these options, as the broker knows it."""
    options = cast("Options", {**call.options, **options})
    check_options(options)
    return _queue(options, call.task, options.get("client"), None)


def _queue(options: Options, task: Callable_, client: str | None, parent: Message | None) -> str:
    """The queue that was named, that of the message's client, or the task's own; all of one namespace.

    A hand-off stays in the queue of its parent's client if its task has no queue of its own.
    """
    namespace, slash, _ = task.queue.rpartition("/")
    if "queue" not in options:
        if client is None or not task.follows_client:
            return task.queue
        own = f"{namespace}{slash}{queue_of_client(client)}"
        return own if "client" in options or (parent is not None and parent.queue == own) else task.queue
    name = options["queue"]
    if not is_queue(name):
        msg = f"queue={name!r} cannot name a queue; use letters, digits, dots, dashes and _. Nothing was sent"
        raise BadArgument(msg)
    if name == RESERVED_QUEUE:
        msg = f"queue={name!r} is reserved for deliveries of webhooks; choose another name. Nothing was sent"
        raise BadArgument(msg)
    return f"{namespace}{slash}{name}"


def _own_id(options: Options, queue: str) -> str | None:
    """The id that the sender chose; unique within its namespace."""
    id = options.get("id")
    namespace, slash, _ = queue.rpartition("/")
    return id if id is None or id.startswith(f"{namespace}{slash}") else f"{namespace}/{id}"


def _delay(options: Options, now: float) -> float:
    at = options.get("at")
    if at is None:
        return seconds(options.get("delay", 0.0), "delay")
    if "delay" in options:
        msg = "delay and at both set the time; give one of them. Nothing was sent"
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
            f"{name}={value!r} has no time zone, so it is ambiguous: use datetime(…, tzinfo=UTC) or "
            "datetime.now(UTC) + …; nothing was sent"
        )
        raise BadArgument(msg)
    return value.timestamp()


def _unique(options: Options, body: msgspec.Raw) -> str | None:
    unique: object = options.get("unique")
    if unique is None:
        if "unique_window" in options:
            msg = "unique_window needs unique; nothing was sent"
            raise BadArgument(msg)
        return None
    if unique is True:
        return f"payload:{hashlib.sha256(bytes(body)).hexdigest()}"
    if not isinstance(unique, str) or not unique:
        msg = f"unique={unique!r} is neither a text nor True; nothing was sent"
        raise BadArgument(msg)
    return f"word:{unique}"


def _priority(value: int) -> int:
    if not is_whole(value, 0, MAX_PRIORITY):
        msg = f"priority={value!r} is not a whole number from 0 to {MAX_PRIORITY}; nothing was sent"
        raise BadArgument(msg)
    return value


def _announce(webhook: str | None) -> tuple[str, ...]:
    return () if webhook is None else (f"{WEBHOOK_TARGET}{webhook}",)


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
