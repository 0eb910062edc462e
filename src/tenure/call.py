"""A call: a task with its arguments bound, and the options that one submit may set.

Made by `Task.bind`; handed to `app.submit` or `ctx.submit`, which turn it into a `Message`.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack, cast

from tenure.errors import BadArgument
from tenure.message import DEFAULT_PRIORITY, MAX_PRIORITY, Message, Outgoing, Overrides

if TYPE_CHECKING:
    from collections.abc import Iterable

    import msgspec

    from tenure.handle import Handle, SyncHandle
    from tenure.task import Home

R_co = TypeVar("R_co", covariant=True)


class Options(TypedDict, total=False):
    """What one submit may decide instead of the task. Times are seconds or `timedelta`."""

    #: 0 to 9; the highest is lent first.
    priority: int
    #: Another queue than the task's own.
    queue: str
    #: Not before so long from now.
    delay: float | timedelta
    #: Not before this moment, with a time zone. Instead of `delay`.
    at: datetime
    #: If nobody began it by then (so long from now, or a moment with a time zone), it goes to the dead letters.
    expires: float | timedelta | datetime
    #: Once done under this key, done for the ledger's window.
    key: str
    #: While a message with this word waits, it stands for this one. True: the word is the payload.
    unique: str | Literal[True]
    #: For `unique`: only a waiting message that was sent so recently stands for this one.
    unique_window: float | timedelta
    #: The lease for this message.
    lease: float | timedelta
    max_attempts: int
    #: Ends the handler after so long.
    max_hold: float | timedelta
    #: The message's own id, for a producer that may have to repeat the submit.
    id: str
    headers: dict[str, str]
    correlation_id: str


class Callable_(Protocol):  # noqa: N801 - the word is taken
    """What a call needs to know of its task."""

    @property
    def name(self) -> str:
        """The task's name on the wire."""
        ...

    @property
    def queue(self) -> str:
        """Where its messages go."""
        ...


class Call(Generic[R_co]):
    """A task and its payload, not yet sent."""

    __slots__ = ("body", "options", "task")

    def __init__(self, task: Callable_, body: msgspec.Raw, options: Options | None = None) -> None:
        """Bind `body` (JSON) to `task`."""
        self.task = task
        self.body = body
        #: What this call brings along; what `submit` is given counts more.
        self.options: Options = options or {}

    def having(self, **options: Unpack[Options]) -> Call[R_co]:
        """The same call with options of its own, as `submit_many` needs them: `resize.bind(x).having(key=x)`."""
        _check(options)
        return Call(self.task, self.body, cast("Options", {**self.options, **options}))

    async def submit(self, **options: Unpack[Options]) -> Handle[R_co]:
        """Send it: `await resize.bind("a.png").submit(priority=9)`. Returns when it cannot be lost any more."""
        return await self._app().submit_call(self, options)

    def submit_sync(self, **options: Unpack[Options]) -> SyncHandle[R_co]:
        """As `submit`, from code that is not async."""
        return self._app().submit_call_sync(self, options)

    def _app(self) -> Home:
        app: Home | None = getattr(self.task, "app", None)
        if app is None:
            msg = f"{self!r} belongs to no app here, so it cannot be sent; submit it where its task is registered"
            raise BadArgument(msg)
        return app

    def __repr__(self) -> str:
        """Show what would be called."""
        return f"<Call {self.task.name} {bytes(self.body)[:80]!r}>"


#: What other libraries call the same thing.
_ELSEWHERE = {
    "countdown": "delay", "delay_seconds": "delay", "eta": "at", "run_at": "at", "task_id": "id", "job_id": "id",
    "retries": "max_attempts", "max_retries": "max_attempts", "max_tries": "max_attempts", "timeout": "max_hold",
    "time_limit": "max_hold", "visibility_timeout": "lease", "ack_timeout": "lease", "queue_name": "queue",
    "idempotency_key": "key", "max_age": "expires", "default_retry_delay": "retry_delay", "min_backoff": "retry_delay",
    "max_backoff": "max_retry_delay", "first_delay": "retry_delay", "max_delay": "max_retry_delay",
}  # fmt: skip


def meant(word: str, known: Iterable[str]) -> str:
    """What somebody who wrote `word` may have meant, as half a sentence."""
    words = sorted(known)
    near = _ELSEWHERE.get(word)
    if near not in words:
        near = next(iter(difflib.get_close_matches(word, words, n=1)), None)
    return f"did you mean {near}?" if near else f"there are: {', '.join(words)}"


#: The words that `submit` takes beside a call.
OPTION_NAMES = frozenset(Options.__annotations__)

#: Ten years: longer durations are mistakes, and some stores cannot hold them.
LONGEST_SECONDS = 3653 * 86_400.0
MOST_ATTEMPTS = 2**31


def is_whole(value: object, least: int, most: float = float("inf")) -> bool:
    """Whether it is a whole number within bounds. True and False are not numbers, whatever Python says."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def seconds(value: float | timedelta, name: str, *, least: float = 0.0) -> float:
    """A duration as the user gave it, in seconds; refuses what makes no sense."""
    number: object = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(number, bool) or not isinstance(number, int | float) or not least <= number <= LONGEST_SECONDS:
        msg = f"{name}={value!r} is not a duration from {least:g} seconds to ten years; nothing was sent"
        raise BadArgument(msg)
    return float(number)


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
    _check(options)
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


def _check(options: Options) -> None:
    """Refuse what no worker could read, or what would be left out without a word."""
    unknown = sorted(options.keys() - OPTION_NAMES)
    if unknown:
        msg = f"submit takes no option {', '.join(unknown)}; {meant(unknown[0], OPTION_NAMES)}. Nothing was sent"
        raise BadArgument(msg)
    headers: object = options.get("headers") or {}
    if not isinstance(headers, dict):
        msg = f"headers={headers!r} is not a dict of texts; nothing was sent"
        raise BadArgument(msg)
    texts: list[tuple[str, object]] = [(name, options.get(name)) for name in ("key", "id", "correlation_id")]
    texts += [("headers", part) for pair in headers.items() for part in pair]
    for name in ("key", "id"):
        if options.get(name) == "":
            msg = f"{name} is empty, which is none; nothing was sent"
            raise BadArgument(msg)
    for name, value in texts:
        if value is not None and not isinstance(value, str):
            msg = f"{name}: {value!r} is not a text; nothing was sent"
            raise BadArgument(msg)
    id = options.get("id")
    if id is not None and (not id.isprintable() or id != id.strip()):
        msg = f"id={id!r} has characters that cannot be seen or typed; nothing was sent"
        raise BadArgument(msg)


_QUEUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}")


def is_queue(name: object) -> bool:
    """Whether that can name a queue: ASCII letters, digits, dots, dashes and underscores."""
    return isinstance(name, str) and _QUEUE.fullmatch(name) is not None


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
        msg = f"expires={expires!r} has passed already; nothing was sent"
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
