"""A call: a task with its arguments bound, and the options that one submit may set.

Made by `Task.bind`; handed to `app.submit` or `ctx.submit`, which turn it into a `Message` (`outgoing.py`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack, cast

from tenure.errors import BadArgument
from tenure.given import meant

if TYPE_CHECKING:
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


#: The words that `submit` takes beside a call.
OPTION_NAMES = frozenset(Options.__annotations__)


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
        check_options(options)
        return Call(self.task, self.body, cast("Options", {**self.options, **options}))

    async def submit(self, **options: Unpack[Options]) -> Handle[R_co]:
        """Send it: `await resize.bind("a.png").submit(priority=9)`. Returns when it cannot be lost any more."""
        return await self._app()._submit_call(self, options)

    def submit_sync(self, **options: Unpack[Options]) -> SyncHandle[R_co]:
        """As `submit`, from code that is not async."""
        return self._app()._submit_call_sync(self, options)

    def _app(self) -> Home:
        app: Home | None = getattr(self.task, "app", None)
        if app is None:
            msg = f"{self!r} belongs to no app here, so it cannot be sent; submit it where its task is registered"
            raise BadArgument(msg)
        return app

    def __repr__(self) -> str:
        """Show what would be called."""
        return f"<Call {self.task.name} {bytes(self.body)[:80]!r}>"


def check_options(options: Options) -> None:
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
