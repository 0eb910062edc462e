"""A call: a task with its arguments bound, and the options that one submit may set.

Made by `Task.bind`; handed to `app.submit` or `ctx.submit`, which turn it into a `Message` (`build_message.py`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypedDict, TypeVar, Unpack, cast

from tenure.errors import BadArgument
from tenure.rules.arguments import is_webhook, meant
from tenure.rules.client_queue import wrong_client

if TYPE_CHECKING:
    import msgspec

    from tenure.tasks.handle import Handle, SyncHandle

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class CallSender(Protocol):
    """The part of an app that a call uses to send itself."""

    async def _submit_call(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call."""
        ...

    def _submit_call_sync(self, call: Call[R], options: Options) -> SyncHandle[R]:
        """Send one call from code that is not async."""
        ...


class Options(TypedDict, total=False):
    """What one submit may decide instead of the task. Times are seconds or `timedelta`."""

    priority: int
    """0 to 9, the highest first; default: 5."""
    queue: str
    """Another queue than the task's, of the same namespace."""
    client: str
    """For whom the work is; default: the app's client. A task without a queue of its own goes to `{client}-tasks`."""
    delay: float | timedelta
    """Not before so long from now."""
    at: datetime
    """Not before this moment, a `datetime` with a time zone. Instead of `delay`."""
    expires: float | timedelta | datetime
    """A message that has not begun by then (so long from now, or a `datetime` with a time zone) becomes a dead
    letter.
    """
    key: str
    """Work that is done once: a second message with the same key is not stored while the first waits or runs, nor for
    7 days after it was completed.
    """
    unique: str | Literal[True]
    """If a message with the same value is already waiting and does not expire earlier, no second one is stored. True:
    the value is the payload.
    """
    unique_window: float | timedelta
    """For `unique`: a waiting message counts only if it was sent within this time."""
    lease: float | timedelta
    """The lease of this message, instead of the task's."""
    max_attempts: int
    """Failed attempts before this message becomes a dead letter, instead of the task's."""
    max_hold: float | timedelta
    """How long the handler of this message may run, instead of the task's."""
    id: str
    """The message's own id: a submit that is repeated with it stores no second message."""
    headers: dict[str, str]
    """Texts by name, for your own use; in the handler `ctx.message.headers`."""
    correlation_id: str
    """What the message belongs to; messages that its handler submits inherit it."""
    webhook: str | None
    """What is notified when the message ends: the name of an endpoint, or a URL that an endpoint allows. None: nothing,
    whatever the task says.
    """


#: The words that `submit` takes beside a call.
OPTION_NAMES = frozenset(Options.__annotations__)


class Callable_(Protocol):  # noqa: N801 - the word is taken
    """The part of a task that a call uses."""

    @property
    def name(self) -> str:
        """The task's name on the wire."""
        ...

    @property
    def queue(self) -> str:
        """The queue to which the task's messages go."""
        ...

    @property
    def webhook(self) -> str | None:
        """What is notified when its messages end. None: nothing."""
        ...

    @property
    def follows_client(self) -> bool:
        """Whether it has no queue of its own, so that a message of another client goes to that client's queue."""
        ...


class Call(Generic[R_co]):
    """A task with its arguments, not yet sent. Made by `task.bind(…)`."""

    __slots__ = ("body", "options", "task")

    def __init__(self, task: Callable_, body: msgspec.Raw, options: Options | None = None) -> None:
        """Bind `body` (JSON) to `task`."""
        #: The task that it calls.
        self.task = task
        #: The payload, as JSON.
        self.body = body
        #: The options of this call, set by `having`. What `submit` is given counts more.
        self.options: Options = options or {}

    def having(self, **options: Unpack[Options]) -> Call[R_co]:
        """Return the same call with options of its own: `app.submit_many(resize.bind(x).having(key=x) for x in new)`.

        The options are those of `app.submit`. What `submit` is given later counts more.
        """
        check_options(options)
        return Call(self.task, self.body, cast("Options", {**self.options, **options}))

    async def submit(self, **options: Unpack[Options]) -> Handle[R_co]:
        """Send the call with options: `await resize.bind("a.png").submit(priority=9)`.

        Returns a handle once the message is stored and cannot be lost any more. Times are seconds or `timedelta`.

        - `priority`: 0 to 9, the highest first; default: 5.
        - `queue`: Another queue than the task's, of the same namespace.
        - `client`: For whom the work is; default: the app's client. A task without a queue of its own goes to
          `{client}-tasks`.
        - `delay`: Not before so long from now.
        - `at`: Not before this moment, a `datetime` with a time zone. Instead of `delay`.
        - `expires`: A message that has not begun by then (so long from now, or a `datetime` with a time zone) becomes
          a dead letter.
        - `key`: Work that is done once: a second message with the same key is not stored while the first waits or
          runs, nor for 7 days after it was completed.
        - `unique`: If a message with the same value is already waiting and does not expire earlier, no second one is
          stored. True: the value is the payload.
        - `unique_window`: For `unique`: a waiting message counts only if it was sent within this time.
        - `lease`: The lease of this message, instead of the task's.
        - `max_attempts`: Failed attempts before this message becomes a dead letter, instead of the task's.
        - `max_hold`: How long the handler of this message may run, instead of the task's.
        - `id`: The message's own id: a submit that is repeated with it stores no second message.
        - `headers`: Texts by name, for your own use; in the handler `ctx.message.headers`.
        - `correlation_id`: What the message belongs to; messages that its handler submits inherit it.
        - `webhook`: What is notified when the message ends: the name of an endpoint, or a URL that an endpoint allows.
          None: nothing, whatever the task says.
        """
        return await self._app()._submit_call(self, options)

    def submit_sync(self, **options: Unpack[Options]) -> SyncHandle[R_co]:
        """Send the call from code that is not async; blocks until the message is stored. Options: as `app.submit`."""
        return self._app()._submit_call_sync(self, options)

    def _app(self) -> CallSender:
        app: CallSender | None = getattr(self.task, "app", None)
        if app is None:
            msg = f"{self!r} belongs to no app here, so it cannot be sent; submit it where its task is registered"
            raise BadArgument(msg)
        return app

    def __repr__(self) -> str:
        """Show what would be called."""
        return f"<Call {self.task.name} {bytes(self.body)[:80]!r}>"


def check_options(options: Options) -> None:
    """Refuse what no worker could read, or what would be left out silently."""
    unknown = sorted(options.keys() - OPTION_NAMES)
    if unknown:
        msg = f"submit takes no option {', '.join(unknown)}; {meant(unknown[0], OPTION_NAMES)}. Nothing was sent"
        raise BadArgument(msg)
    if "client" in options and (wrong := wrong_client(options["client"])):
        msg = f"client={options['client']!a} cannot name a client: {wrong}. Nothing was sent"
        raise BadArgument(msg)
    headers: object = options.get("headers") or {}
    if not isinstance(headers, dict):
        msg = f"headers={headers!r} is not a dict of texts; nothing was sent"
        raise BadArgument(msg)
    texts: list[tuple[str, object]] = [(name, options.get(name)) for name in ("key", "id", "correlation_id")]
    texts += [("headers", part) for pair in headers.items() for part in pair]
    for name in ("key", "id"):
        if options.get(name) == "":
            msg = f"{name} must not be empty; nothing was sent"
            raise BadArgument(msg)
    for name, value in texts:
        if value is not None and not isinstance(value, str):
            msg = f"{name}: {value!r} is not a text; nothing was sent"
            raise BadArgument(msg)
    webhook: object = options.get("webhook")
    if webhook is not None and not is_webhook(webhook):
        msg = f"webhook={webhook!r} is neither the name of an endpoint nor a URL; nothing was sent"
        raise BadArgument(msg)
    id = options.get("id")
    if id is not None and (not id.isprintable() or id != id.strip()):
        msg = f"id={id!r} has unprintable characters; nothing was sent"
        raise BadArgument(msg)
