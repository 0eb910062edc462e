"""A call: a task with its arguments bound, and the options that one submit may set.

Made by `Task.bind`; handed to `app.submit` or `ctx.submit`, which turn it into a `Message`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Generic, Protocol, TypedDict, TypeVar

from tenure.errors import BadArgument
from tenure.message import DEFAULT_PRIORITY, MAX_PRIORITY, Message, Outgoing, Overrides

if TYPE_CHECKING:
    import msgspec

R_co = TypeVar("R_co", covariant=True)


class Options(TypedDict, total=False):
    """What one submit may decide instead of the task. Times are seconds or `timedelta`."""

    #: 0 to 9; the highest is lent first.
    priority: int
    #: Not before so long from now.
    delay: float | timedelta
    #: Once done under this key, done for the ledger's window.
    key: str
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

    __slots__ = ("body", "task")

    def __init__(self, task: Callable_, body: msgspec.Raw) -> None:
        """Bind `body` (JSON) to `task`."""
        self.task = task
        self.body = body

    def __repr__(self) -> str:
        """Show what would be called."""
        return f"<Call {self.task.name} {bytes(self.body)[:80]!r}>"


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
    if not options and parent is None:  # the common case, kept short: bulk sends live here
        message = Message(
            id=id, queue=call.task.queue, task=call.task.name, body=call.body, client=client, sent_at=sent_at
        )
        return Outgoing(message)
    _check(options)
    correlation_id = options.get("correlation_id")
    if correlation_id is None and parent is not None:
        correlation_id = parent.correlation_id or parent.id
    message = Message(
        id=options.get("id") or id,
        queue=call.task.queue,
        task=call.task.name,
        body=call.body,
        priority=_priority(options.get("priority", DEFAULT_PRIORITY)),
        key=options.get("key"),
        client=client,
        correlation_id=correlation_id,
        parent_id=parent.id if parent is not None else None,
        headers=options.get("headers") or {},
        sent_at=sent_at,
        overrides=_overrides(options),
    )
    return Outgoing(message, seconds(options.get("delay", 0.0), "delay"))


def _check(options: Options) -> None:
    """Refuse what no worker could read, or what would be left out without a word."""
    unknown = options.keys() - Options.__annotations__.keys()
    if unknown:
        msg = f"submit takes no option {', '.join(sorted(unknown))}; nothing was sent"
        raise BadArgument(msg)
    headers = options.get("headers") or {}
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
