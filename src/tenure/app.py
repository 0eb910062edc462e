"""The app: the object users make, register tasks with, and submit through.

    app = Tenure("sqlite:///jobs.db")

    @app.task(max_attempts=5)
    async def resize(ctx: Context, image: str, width: int = 800) -> dict[str, int]: ...

    await resize.submit("a.png")

Nothing is opened before it is needed. `async with app:` closes what was opened. What is declared on an app is in
`registry.py`; what an open broker and state do for it is in `door.py`, and whoever works for it in `runtime/worker.py`.
"""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast, overload

from tenure import assembly
from tenure.broker import Broker, Sent, SweepRequest
from tenure.broker_wait import open_when_there
from tenure.call import Call, Options
from tenure.claim_check import ClaimCheck
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.config import Settings, settings_from
from tenure.door import Door, plain_reader
from tenure.errors import BadArgument, BadURL, ConfigurationError
from tenure.handle import Handle, Read, SyncHandle
from tenure.message import Outgoing
from tenure.middleware import Middleware
from tenure.portal import Portal
from tenure.record import Record
from tenure.registry import Registry
from tenure.sink import Sink
from tenure.state import State

if TYPE_CHECKING:
    from tenure.runtime.worker import Worker

R = TypeVar("R")

Lifespan = Callable[["Tenure"], AbstractAsyncContextManager[Any]]


class Tenure(Registry):
    """An app: tasks, and the place where their messages are kept."""

    def __init__(  # noqa: PLR0913 - each is an option of its own, and none is needed
        self, url: str | None = None, *,
        client: str | None = None,
        namespace: str | None = None,
        settings: Settings | None = None,
        lifespan: Lifespan | None = None,
        middleware: Iterable[Middleware] = (),
        claim_check: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        must_exist: bool = False,
    ) -> None:  # fmt: skip
        """Keep messages at `url`, else at `TENURE_URL`; nothing is opened yet.

        `namespace`: apps with different ones share a place and see nothing of each other. `lifespan`: an async
        context manager around each worker, whose value handlers get as `ctx.state`. `claim_check`: the URL of a
        folder, bucket or container for bodies that are too large for the broker. `must_exist`: for tools that look.
        A place that is not there is an error, not created.
        """
        super().__init__(settings or settings_from(), client=client, namespace=namespace, middleware=middleware)
        self._lifespan = lifespan
        place: object = url or self.settings.url
        if place is not None and not isinstance(place, str):
            msg = f"{place!r} is no URL; a file is named like this: sqlite:///jobs.db"
            raise BadURL(msg)
        if place is None:
            msg = "no broker is named: pass a URL, as in Tenure('sqlite:///jobs.db'), or set TENURE_URL"
            raise ConfigurationError(msg)
        self.url = place
        checked = claim_check or self.settings.claim_check
        #: Where bodies go that are too large for the broker.
        self.claim_check = None if checked is None else ClaimCheck(assembly.cloakroom(checked, clock=clock))
        self._door = self._make_door(clock, *assembly.connect(place, clock=clock, must_exist=must_exist))
        self._portal = Portal()
        self._sync_door: Door | None = None

    def _make_door(self, clock: Clock, broker: Broker, state: State) -> Door:
        return Door(broker, state, clock, client=self.client, namespace=self.namespace, claim_check=self.claim_check)

    # -- sending -----------------------------------------------------------------------------------

    @overload
    async def submit(self, call: Call[R], /, **options: Unpack[Options]) -> Handle[R]: ...
    @overload
    async def submit(
        self, call: str, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> Handle[Any]: ...

    async def submit(
        self, call: Any, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> Handle[Any]:
        """Send one message: a bound call, or a task's name and its payload. Returns when it cannot be lost any more."""
        return await self._door.submit(self._call(call, payload), options)

    def _call(self, call: Any, payload: Mapping[str, Any] | None) -> Call[Any]:
        if isinstance(call, Call):
            return call
        if not isinstance(call, str):
            msg = f"submit takes task.bind(…) or a task's name, not {call!r}; nothing was sent"
            raise BadArgument(msg)
        task = self.find(call)
        return Call(task, task.signature.payload(payload or {}))

    async def submit_call(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call with its options."""
        return await self._door.submit(call, options)

    async def submit_many(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[Handle[R]]:
        """Send many messages, in as few steps as the broker allows; one handle each, in order.

        A call that is refused does not hold up the others: when all are through, `PartlySent` says which were
        refused and why, with the handles of those that were sent. Options of its own: `call.having(key=…)`.
        """
        return await self._door.submit_many(_listed(calls), options)

    @overload
    def submit_sync(self, call: Call[R], /, **options: Unpack[Options]) -> SyncHandle[R]: ...
    @overload
    def submit_sync(
        self, call: str, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> SyncHandle[Any]: ...

    def submit_sync(
        self, call: Any, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> SyncHandle[Any]:
        """As `submit`, from code that is not async: scripts, Django, Flask. Blocks until it cannot be lost any more."""
        return self.submit_call_sync(self._call(call, payload), options)

    def submit_call_sync(self, call: Call[R], options: Options) -> SyncHandle[R]:
        """Send one call with its options, and wait."""
        door = self._door_for_sync()
        return SyncHandle(self._portal(lambda: door.submit(call, options)), self._portal)

    def submit_many_sync(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[SyncHandle[R]]:
        """As `submit_many`, from code that is not async."""
        door, many = self._door_for_sync(), _listed(calls)
        handles = self._portal(lambda: door.submit_many(many, options))
        return [SyncHandle(handle, self._portal) for handle in handles]

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send raw messages; one answer each, refusals included."""
        return await self._door.send(batch)

    # -- asking ------------------------------------------------------------------------------------

    def handle(self, id: str, read: Read | None = None) -> Handle[Any]:
        """A handle on a message that was sent before, perhaps by another process.

        Its result comes as plain JSON values; `task.handle(id)` knows the handler's own type.
        """
        return Handle(self._door, id, read or plain_reader())

    def handle_sync(self, id: str) -> SyncHandle[Any]:
        """As `handle`, for code that is not async."""
        return SyncHandle(Handle(self._door_for_sync(), id, plain_reader()), self._portal)

    async def record(self, id: str) -> Record | None:
        """Everything known about a message."""
        return await self._door.record(id)

    # -- working -----------------------------------------------------------------------------------

    def worker(
        self, *, concurrency: int | None = None, queues: Sequence[str] = (), name: str = "",
        slot: str | None = None, grace: float | None = None, reference: str | None = None, sinks: Sequence[Sink] = (),
    ) -> "Worker":  # fmt: skip
        """A worker for this app's tasks: `async with app, app.worker(): …`, or `await app.worker().run()`.

        `slot` is an identity that a manager gives to one process at a time (a pod's UID and container name, a systemd
        unit): a new worker in it proves that the one before is dead.

        `reference` ("module:attribute") tells child processes how to import this app, or a function without
        parameters that makes it; without it they import the module of the task.
        """
        from tenure.runtime.locating import locate, locate_task  # noqa: PLC0415 - senders need no runtime
        from tenure.runtime.worker import Worker, WorkerOptions  # noqa: PLC0415

        if not self.tasks:
            msg = "this app has no tasks: decorate a function with @app.task before starting a worker"
            raise ConfigurationError(msg)
        if concurrency is not None and concurrency < 1:
            msg = f"concurrency={concurrency!r} lets nothing run; a worker needs at least one slot"
            raise ConfigurationError(msg)
        settings = self.settings
        options = WorkerOptions(
            concurrency=settings.concurrency if concurrency is None else concurrency,
            queues=tuple(map(self.queue_named, queues)),
            name=name,
            slot=settings.slot if slot is None else slot,
            lease_seconds=settings.lease_seconds,
            grace_seconds=settings.grace_seconds if grace is None else grace,
            sweep=self.sweep_request(),
            journal_keep_seconds=settings.journal_keep_seconds,
            own_thread=self.clock is SYSTEM_CLOCK,
        )
        return Worker(
            self.broker, self.state, self.tasks, self.clock, options,
            opening=self.open,
            locate=locate_task if reference is None else lambda _task: locate(reference),
            lifespan=self.enter_lifespan,
            schedules=lambda: tuple(self.schedules.values()),
            client=self.client,
            router=self.router,
            sinks=sinks,
            claim_check=self.claim_check,
        )  # fmt: skip

    def enter_lifespan(self) -> AbstractAsyncContextManager[Any]:
        """What handlers get as `ctx.state`, for as long as it is entered."""
        return contextlib.nullcontext() if self._lifespan is None else self._lifespan(self)

    def sweep_request(self) -> SweepRequest:
        """How this app's settings sweep."""
        settings = self.settings
        return SweepRequest(
            limit=settings.sweep_batch,
            interval_seconds=settings.sweep_interval_seconds,
            max_attempts=settings.max_attempts,
            lease_seconds=settings.lease_seconds,
        )

    # -- opening and closing -----------------------------------------------------------------------

    @property
    def clock(self) -> Clock:
        """Where this app's time comes from."""
        return self._door.clock

    @property
    def broker(self) -> Broker:
        """The broker, for operators' tools; call `open` first."""
        return self._door.broker

    @property
    def state(self) -> State:
        """The state, for operators' tools; call `open` first."""
        return self._door.state

    async def open(self, *, wait_for_broker: float | None = None) -> None:
        """Connect, once; everything that needs it does so by itself.

        While the broker is away it waits so many seconds, else as many as the setting says (30); 0: not at all. What
        opens by itself later, as `submit` does, waits for nothing and raises `BrokerUnavailable`.
        """
        seconds = self.settings.wait_for_broker_seconds if wait_for_broker is None else wait_for_broker
        await open_when_there(self._door.open, seconds, self.clock)

    async def close(self) -> None:
        """Disconnect; the app can be opened again."""
        await self._door.close()

    def close_sync(self) -> None:
        """Disconnect what `submit_sync` opened. Nothing is lost without it: what was sent is stored."""
        door, self._sync_door = self._sync_door, None
        if door is not None:
            self._portal(door.close)

    def _door_for_sync(self) -> Door:
        if self._sync_door is None:
            self._sync_door = self._door.twin()
        return self._sync_door

    @contextlib.contextmanager
    def elsewhere(self, broker: Broker, state: State, clock: Clock) -> Iterator[None]:
        """At another place and in another time for a while, as tests need it."""
        mine, check = (self._door, self._sync_door), self.claim_check
        if check is not None:  # tests leave nothing in anybody's bucket
            self.claim_check = ClaimCheck(assembly.cloakroom("memory://", clock=clock))
        self._door, self._sync_door = self._make_door(clock, broker, state), None
        try:
            yield
        finally:
            self._door, self._sync_door = mine
            self.claim_check = check

    async def __aenter__(self) -> Self:
        """Open."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close."""
        await self.close()


def _listed(calls: Iterable[Call[R]]) -> list[Call[R]]:
    given: object = calls
    many = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    odd = many if isinstance(given, Call) else [one for one in many if not isinstance(one, Call)]
    if odd:
        msg = f"submit_many takes a list of task.bind(…), not {odd[0]!r}; nothing was sent"
        raise BadArgument(msg)
    return cast("list[Call[R]]", many)
