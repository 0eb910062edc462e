"""The app: the object users make, register tasks with, and submit through.

    app = Tenure("sqlite:///jobs.db")

    @app.task(max_attempts=5)
    async def resize(ctx: Context, image: str, width: int = 800) -> dict[str, int]: ...

    await resize.submit("a.png")

Nothing is opened before it is needed. `async with app:` closes what was opened. What is declared on an app is in
`tasks/registry.py`; what an open broker and state do for it is in `client/client.py`, and the worker is in
`runtime/worker.py`.
"""

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast, overload

import msgspec

from tenure import assembly
from tenure.broker import Broker, Sent, SweepRequest
from tenure.client.blocking import BlockingPortal
from tenure.client.broker_wait import open_when_there
from tenure.client.claim_check import ClaimCheck
from tenure.client.client import Client, plain_reader, reader
from tenure.client.client_folders import ClientFolders
from tenure.client.group_sending import GroupClient
from tenure.client.operator import this_user
from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.config import ARGUMENT, Settings, settings_from, variables_read
from tenure.errors import BadArgument, BadURL, ConfigurationError
from tenure.group import GroupResult
from tenure.groups.handle import GroupHandle, SyncGroupHandle, ThenHandle
from tenure.limit import Limit
from tenure.message import Outgoing
from tenure.middleware import Middleware
from tenure.monitoring.telemetry import Telemetry
from tenure.record import Record
from tenure.rules.client_queue import queues_of_clients
from tenure.rules.client_weights import weights_from
from tenure.rules.group_id import group_id
from tenure.sink import Sink
from tenure.state import State
from tenure.tasks.call import Call, Options
from tenure.tasks.handle import Handle, Read, SyncHandle
from tenure.tasks.registry import Registry

if TYPE_CHECKING:
    from tenure.client.operations.blocking import SyncOperate
    from tenure.client.operations.operate import Operate
    from tenure.runtime.alerting import Alerting
    from tenure.runtime.deliveries import Deliveries
    from tenure.runtime.options import WorkerOptions
    from tenure.runtime.ownership import Ownership
    from tenure.runtime.worker import Worker
    from tenure.tasks.task import Task

R = TypeVar("R")

Lifespan = Callable[["Tenure"], AbstractAsyncContextManager[Any]]


class Tenure(Registry):
    """An app: tasks, and the store that keeps their messages. Usable with `async with`, which opens and closes it."""

    def __init__(  # noqa: PLR0913 - each is an option of its own, and none is needed
        self,
        url: str | None = None,
        *,
        client: str | None = None,
        namespace: str | None = None,
        settings: Settings | None = None,
        lifespan: Lifespan | None = None,
        middleware: Iterable[Middleware] = (),
        claim_check: str | None = None,
        clock: Clock = SYSTEM_CLOCK,
        must_exist: bool = False,
    ) -> None:
        """Make an app. Nothing is opened before it is needed.

        - `url`: Where messages are kept, as in `sqlite:///jobs.db`; default: `TENURE_URL`, else the storage
          account that `AZURE_STORAGE_CONNECTION_STRING` or `AZURE_STORAGE_ACCOUNT_NAME` names.
        - `client`: Who sends; names the default queue, `{client}-tasks`. Default: `TENURE_CLIENT`, else `default`.
        - `namespace`: Apps with different namespaces share a store and see nothing of each other; default:
          `TENURE_NAMESPACE`.
        - `settings`: All settings as one value; default: read from the environment (`TENURE_…`).
        - `lifespan`: An async context manager that each worker enters; handlers get what it yields as `ctx.state`.
        - `middleware`: Async functions around every handler, the outermost first; see `@app.middleware`.
        - `claim_check`: The URL of a folder, bucket or container for bodies that are too large for the broker;
          default: `TENURE_CLAIM_CHECK`.
        - `clock`: Where the time comes from; for tests.
        - `must_exist`: A store that is not there is an error and is not created; for tools that only look.
        """
        read = {} if settings is not None else variables_read()
        super().__init__(settings or settings_from(), client=client, namespace=namespace, middleware=middleware)
        self._lifespan = lifespan
        place: object = url or self.settings.url
        if place is not None and not isinstance(place, str):
            msg = f"{place!r} is not a URL; a file is named like this: sqlite:///jobs.db"
            raise BadURL(msg)
        if place is None:
            msg = "no broker was given: pass a URL, as in Tenure('sqlite:///jobs.db'), or set TENURE_URL"
            raise ConfigurationError(msg)
        #: The URL of the store.
        self.url = place
        checked = claim_check or self.settings.claim_check
        folders = None if checked else assembly.container_url(place, self.settings.container)
        self.in_force = msgspec.structs.replace(
            self.settings, url=place, client=self.client, namespace=self.namespace, claim_check=checked
        )
        given = {"url": url, "client": client, "namespace": namespace, "claim_check": claim_check}
        self.origins = read | _given(settings) | {name: ARGUMENT for name, value in given.items() if value}
        #: Where bodies go that are too large for the broker.
        self._claim_check = None if checked is None else ClaimCheck(assembly.blob_store(checked, clock=clock))
        if folders is not None:
            self._claim_check = ClaimCheck(ClientFolders(assembly.blob_store(folders, clock=clock)))
        #: What follows its messages, if a program asked for it: `tenure.monitoring.otel.instrument(app)`.
        self.telemetry: Telemetry | None = None
        #: Where the events of its workers and servers go besides the journal.
        self.sinks: list[Sink] = []
        self._client = self._make_client(clock, *assembly.connect(place, clock=clock, must_exist=must_exist))
        self._portal = BlockingPortal()
        self._sync_client: Client | None = None
        self._operate: Operate | None = None

    def _make_client(self, clock: Clock, broker: Broker, state: State) -> Client:
        return Client(
            broker, state, clock, client=self.client, namespace=self.namespace, claim_check=self._claim_check,
            settings=self.settings, telemetry=lambda: self.telemetry,
        )  # fmt: skip

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
        """Send one message: `task.bind(…)`, or a task's name and its payload as a dict.

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
        return await self._client.submit(self._call(call, payload), options)

    def _call(self, call: Any, payload: Mapping[str, Any] | None) -> Call[Any]:
        if isinstance(call, Call):
            return call
        if not isinstance(call, str):
            msg = f"submit takes task.bind(…) or a task's name, not {call!r}; nothing was sent"
            raise BadArgument(msg)
        task = self.find(call)
        return Call(task, task.signature.payload(payload or {}))

    async def _submit_call(self, call: Call[R], options: Options) -> Handle[R]:
        """Send one call with its options."""
        return await self._client.submit(call, options)

    async def submit_many(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[Handle[R]]:
        """Send many messages, in as few steps as the broker allows; one handle each, in order.

        A call that is refused does not hold up the others: at the end `PartlySent` says which were refused and why,
        with the handles of those that were sent. The options are those of `app.submit` without `id`, and hold for all
        calls; `call.having(key=…)` gives one call its own.
        """
        return await self._client.submit_many(_listed(calls), options)

    @overload
    def submit_sync(self, call: Call[R], /, **options: Unpack[Options]) -> SyncHandle[R]: ...
    @overload
    def submit_sync(
        self, call: str, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> SyncHandle[Any]: ...

    def submit_sync(
        self, call: Any, payload: Mapping[str, Any] | None = None, /, **options: Unpack[Options]
    ) -> SyncHandle[Any]:
        """Send one message from code that is not async (scripts, Django, Flask); blocks until the message is stored.

        Takes what `app.submit` takes, options included.
        """
        return self._submit_call_sync(self._call(call, payload), options)

    def _submit_call_sync(self, call: Call[R], options: Options) -> SyncHandle[R]:
        """Send one call with its options, and wait."""
        client = self._door_for_sync()
        return SyncHandle(self._portal(lambda: client.submit(call, options)), self._portal)

    def submit_many_sync(self, calls: Iterable[Call[R]], **options: Unpack[Options]) -> list[SyncHandle[R]]:
        """As `submit_many`, from code that is not async. Options: as `app.submit`, without `id`."""
        client, many = self._door_for_sync(), _listed(calls)
        handles = self._portal(lambda: client.submit_many(many, options))
        return [SyncHandle(handle, self._portal) for handle in handles]

    @overload
    async def group(
        self, calls: Iterable[Call[Any]], *, id: str | None = None, expires: float | timedelta | None = None
    ) -> GroupHandle[None]: ...
    @overload
    async def group(
        self, calls: Iterable[Call[Any]], *, then: "Call[R] | Task[..., R]", id: str | None = None,
        expires: float | timedelta | None = None,
    ) -> GroupHandle[R]: ...  # fmt: skip
    async def group(
        self,
        calls: Iterable[Call[Any]],
        *,
        then: "Call[R] | Task[..., R] | None" = None,
        id: str | None = None,
        expires: float | timedelta | None = None,
    ) -> GroupHandle[Any]:
        """Send many messages, and one more when all of them have ended, however they ended.

        Returns a handle once none of it can be lost any more. At most 10,000 calls; `call.having(priority=9)` gives one
        call its options, of which `id`, `key` and `unique` are refused.

        - `then`: A task or `task.bind(…)`. A parameter of type `GroupResult` gets how each member ended; in `bind`,
          `GroupResult.later()` keeps its place. Default: nothing follows, and `result()` has the results.
        - `id`: The group's own id: a call that is repeated with it, as after a crash, stores nothing twice.
        - `expires`: The group ends so long from now at the latest: what has not ended is cancelled, and `then` runs
          with the rest. Default: 7 days.
        """
        last = _last_of(then)
        groups = GroupClient(self._client)
        return await groups.submit(_listed(calls), last, read=_reader_of(last), id=id, expires=expires)

    @overload
    def group_sync(
        self, calls: Iterable[Call[Any]], *, id: str | None = None, expires: float | timedelta | None = None
    ) -> SyncGroupHandle[None]: ...
    @overload
    def group_sync(
        self, calls: Iterable[Call[Any]], *, then: "Call[R] | Task[..., R]", id: str | None = None,
        expires: float | timedelta | None = None,
    ) -> SyncGroupHandle[R]: ...  # fmt: skip
    def group_sync(
        self,
        calls: Iterable[Call[Any]],
        *,
        then: "Call[R] | Task[..., R] | None" = None,
        id: str | None = None,
        expires: float | timedelta | None = None,
    ) -> SyncGroupHandle[Any]:
        """As `group`, from code that is not async; blocks until the group is stored."""
        client, many, last = self._door_for_sync(), _listed(calls), _last_of(then)
        groups = GroupClient(client)
        return SyncGroupHandle(
            self._portal(lambda: groups.submit(many, last, read=_reader_of(last), id=id, expires=expires)),
            self._portal,
        )

    async def send(self, batch: Sequence[Outgoing]) -> list[Sent]:
        """Send raw messages, as bridges from other systems need it; one answer each, refusals included."""
        return await self._client.send(batch)

    # -- asking ------------------------------------------------------------------------------------

    def handle(self, id: str, read: Read | None = None) -> Handle[Any]:
        """Return a handle on a message that was sent before, perhaps by another process. Nothing is asked yet.

        Its result comes as plain JSON values; `task.handle(id)` reads it as the handler's return type.
        """
        return Handle(self._client, id, read or plain_reader())

    def handle_sync(self, id: str) -> SyncHandle[Any]:
        """Return a handle as `app.handle` does, for code that is not async."""
        return SyncHandle(Handle(self._door_for_sync(), id, plain_reader()), self._portal)

    def group_handle(self, id: str) -> GroupHandle[Any]:
        """Return a handle on a group that was submitted before, perhaps by another process. Nothing is asked yet."""
        name = group_id(id, self.namespace)
        groups = GroupClient(self._client)
        return GroupHandle(groups, name, ThenHandle(self._client, plain_reader(), groups, name))

    async def record(self, id: str) -> Record | None:
        """Return everything that is known about a message. None: no message with this id is known."""
        return await self._client.record(id)

    # -- operating ---------------------------------------------------------------------------------

    @property
    def operate(self) -> "Operate":
        """Operations on the store: look at everything; cancel, redrive, pause and more, as the current user."""
        return self._operate_through(self._client)

    @property
    def operate_sync(self) -> "SyncOperate":
        """As `operate`, for code that is not async: the same methods, which block."""
        from tenure.client.operations.blocking import SyncOperate  # noqa: PLC0415 - most programs only send

        return SyncOperate(self._operate_through(self._door_for_sync()), self._portal)

    def _operate_through(self, client: Client) -> "Operate":
        from tenure.client.operations.access import Access, Identity  # noqa: PLC0415 - most programs only send
        from tenure.client.operations.operate import Operate  # noqa: PLC0415

        if self._operate is None or self._operate.access.client is not client:
            self._operate = Operate(Access(client, self, Identity(by=this_user())))
        return self._operate

    # -- working -----------------------------------------------------------------------------------

    def worker(  # noqa: PLR0913 - each is an option of its own, and none is needed
        self,
        *,
        concurrency: int | None = None,
        queues: Sequence[str] = (),
        clients: str | Sequence[str] = (),
        name: str = "",
        slot: str | None = None,
        grace: float | None = None,
        reference: str | None = None,
        sinks: Sequence[Sink] = (),
        metrics: str | None = None,
        detail: float | None = None,
    ) -> "Worker":
        """Make a worker for this app's tasks: `async with app, app.worker(): …`, or `await app.worker().run()`.

        - `concurrency`: Messages at once; default: 10 (`TENURE_CONCURRENCY`).
        - `queues`: Serve these queues only; default: those of the app's tasks. A `*` matches any characters:
          `["*-tasks"]` serves the queues of all clients, also of those that come later. `worker.serve` changes them.
        - `clients`: Serve the queues of these clients: a name, several, patterns such as `a*`, or `"all"`, also those
          that come later. With `queues`, both are served. The worker's time is shared out fairly among them.
        - `name`: The worker's name in logs, events and `tenure workers`; default: host and pid.
        - `slot`: An identity that a manager gives to one process at a time (a pod's UID and container name, a systemd
          unit): a new worker in it proves that the one before is dead. Default: `TENURE_SLOT`, else none.
        - `grace`: Seconds that handlers may go on when it stops; default: 30 (`TENURE_GRACE`). After that their
          messages are returned.
        - `reference`: How child processes import this app: `module:attribute`, the app or a function without
          parameters that makes it. Default: they import the module of the task.
        - `sinks`: Where events go besides the journal.
        - `metrics`: Where the worker serves its metrics for Prometheus, as in `127.0.0.1:9100`; default:
          `TENURE_METRICS`, else nowhere.
        - `detail`: The part of all messages whose every step leaves an event; default: 0, only what ended and what is
          abnormal (`TENURE_DETAIL`).
        """
        from tenure.monitoring.metrics.address import address_of  # noqa: PLC0415 - senders need no runtime
        from tenure.runtime.processes.import_path import locate, locate_task  # noqa: PLC0415 - senders need no runtime
        from tenure.runtime.worker import Worker  # noqa: PLC0415

        if not self.tasks:
            msg = "this app has no tasks: decorate a function with @app.task before starting a worker"
            raise ConfigurationError(msg)
        if detail is not None and not 0.0 <= detail <= 1.0:
            msg = f"detail={detail!r} is not a part from 0 to 1"
            raise ConfigurationError(msg)
        if concurrency is not None and concurrency < 1:
            msg = f"concurrency={concurrency!r} lets nothing run; a worker needs at least one slot"
            raise ConfigurationError(msg)
        settings = self.settings
        options = msgspec.structs.replace(
            self._worker_options(name, grace),
            concurrency=settings.concurrency if concurrency is None else concurrency,
            queues=tuple(dict.fromkeys(map(self.queues_named, (*queues, *_of_clients(clients))))),
            slot=settings.slot if slot is None else slot,
            client_weights=weights_from(settings.client_weights),
            client_limit=Limit(settings.quota_running, settings.quota_per_second),
            label_values=settings.metrics_label_values,
            detail=settings.detail if detail is None else detail,
        )
        served = settings.metrics if metrics is None else metrics
        return Worker(
            self.broker,
            self.state,
            self.tasks,
            self.clock,
            options,
            opening=self.open,
            locate=locate_task if reference is None else lambda _task: locate(reference),
            lifespan=self._enter_lifespan,
            schedules=lambda: tuple(self.schedules.values()),
            queues_named=self.queues_named,
            client=self.client,
            router=self._router,
            sinks=(*sinks, *self.event_log()),
            claim_check=self._claim_check,
            resolve=self._client.webhook_targets.resolve,
            metrics=address_of(served) if served else None,
            metrics_token=settings.metrics_token,
            telemetry=self.telemetry,
            beside=(self.deliveries(name=name, grace=grace), *self.alerting()),
        )

    def event_log(self) -> "Sequence[Sink]":
        """The app's own sinks, and the one that logs events if the settings want it; for workers and servers."""
        if self.settings.log_events is None:
            return tuple(self.sinks)
        from tenure.sinks.log_events import LogEvents, event_names  # noqa: PLC0415 - senders log no events

        return (*self.sinks, LogEvents(event_names(self.settings.log_events)))

    def alerting(self) -> "tuple[Alerting, ...]":
        """Make what judges alerts in this process; for workers and servers. Empty: they are switched off."""
        from tenure.monitoring.in_force import detectors_in_force  # noqa: PLC0415 - senders need none of it
        from tenure.runtime.alerting import Alerting  # noqa: PLC0415

        detectors = detectors_in_force(self.settings.alerts)
        return (Alerting(self._operate_through(self._client).access, detectors, self.event_log()),) if detectors else ()

    def deliveries(self, *, name: str = "", grace: float | None = None) -> "Deliveries":
        """Make what announces endings and posts webhooks in this process; for workers and servers."""
        from tenure.runtime.deliveries import Deliveries  # noqa: PLC0415 - senders need no runtime

        return Deliveries(
            self.broker,
            self.state,
            self.clock,
            self._client.webhooks,
            self._worker_options(name, grace),
            opening=self.open,
            namespace=self.namespace,
            claim_check=self._claim_check,
            sinks=self.event_log(),
            telemetry=self.telemetry,
        )

    def _worker_options(self, name: str, grace: float | None) -> "WorkerOptions":
        """The options of every worker of this process, as the settings have them."""
        from tenure.runtime.options import WorkerOptions  # noqa: PLC0415 - senders need no runtime

        settings = self.settings
        return WorkerOptions(
            name=name,
            lease_seconds=settings.lease_seconds,
            grace_seconds=settings.grace_seconds if grace is None else grace,
            sweep=self.sweep_request(),
            journal_keep_seconds=settings.journal_keep_seconds,
            own_thread=self.clock is SYSTEM_CLOCK,
            detail=settings.detail,
        )

    def ownership(self) -> "Ownership":
        """Make what takes messages and gives them up for consumers without a worker; for servers."""
        from tenure.runtime.ownership import Ownership  # noqa: PLC0415 - senders need no runtime

        return Ownership(
            self.broker,
            self.state.ledger,
            self.clock,
            wall=self.state.wall,
            has_presence=False,
            router=self._router,
            max_attempts=self.settings.max_attempts,
            claim_check=self._claim_check,
        )

    def _enter_lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Yield the `ctx.state` of handlers, for as long as it is entered."""
        return contextlib.nullcontext() if self._lifespan is None else self._lifespan(self)

    def sweep_request(self) -> SweepRequest:
        """Return the sweep request by this app's settings."""
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
        """The clock of this app."""
        return self._client.clock

    @property
    def broker(self) -> Broker:
        """The broker, for operators' tools; await `app.open()` first."""
        return self._client.broker

    @property
    def state(self) -> State:
        """The state, for operators' tools; await `app.open()` first."""
        return self._client.state

    @property
    def is_open(self) -> bool:
        """Whether it is connected to the store."""
        return self._client.is_open

    async def open(self, *, wait_for_broker: float | None = None) -> None:
        """Connect to the store. Optional: everything that needs a connection opens it by itself.

        While the broker is away it waits this many seconds, else as many as the setting says (30); 0: not at all. What
        opens by itself later, as `submit` does, waits for nothing and raises `BrokerUnavailable`.
        """
        seconds = self.settings.wait_for_broker_seconds if wait_for_broker is None else wait_for_broker
        await open_when_there(self._client.open, seconds, self.clock)

    async def close(self) -> None:
        """Disconnect from the store. The app can be opened again."""
        await self._client.close()

    def close_sync(self) -> None:
        """Disconnect what `submit_sync` opened. Without it nothing is lost: what was sent is stored."""
        client, self._sync_client = self._sync_client, None
        if client is not None:
            self._portal(client.close)

    def _wait_for(self, work: Callable[[Client], Awaitable[R]]) -> R:
        """Wait, in code that is not async, for what `work` does with the client for such code."""
        client = self._door_for_sync()
        return self._portal(lambda: work(client))

    def _door_for_sync(self) -> Client:
        if self._sync_client is None:
            self._sync_client = self._client.twin()
        return self._sync_client

    @contextlib.contextmanager
    def _elsewhere(self, broker: Broker, state: State, clock: Clock) -> Iterator[None]:
        """Use another broker, state and clock for a while, as tests need it."""
        mine, check = (self._client, self._sync_client), self._claim_check
        if check is not None:  # tests leave nothing in anybody's bucket
            self._claim_check = ClaimCheck(assembly.blob_store("memory://", clock=clock))
        self._client, self._sync_client = self._make_client(clock, broker, state), None
        try:
            yield
        finally:
            self._client, self._sync_client = mine
            self._claim_check = check

    async def __aenter__(self) -> Self:
        """Open the app."""
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the app."""
        await self.close()


def _of_clients(clients: str | Sequence[str]) -> tuple[str, ...]:
    """The queues of the clients that a worker serves. Raises `ConfigurationError`."""
    try:
        return () if not clients and not isinstance(clients, str) else queues_of_clients(clients)
    except BadArgument as error:
        msg = f"{error}; no worker was made"
        raise ConfigurationError(msg) from error


def _given(settings: Settings | None) -> dict[str, str]:
    """The options that a given `Settings` decides."""
    if settings is None:
        return {}
    usual = msgspec.structs.asdict(Settings())
    return {name: ARGUMENT for name, value in msgspec.structs.asdict(settings).items() if value != usual[name]}


def _last_of(then: "Call[R] | Task[..., R] | None") -> Call[R] | None:
    """The call at the end of a group."""
    if then is None or isinstance(then, Call):
        return then
    signature = getattr(then, "signature", None)
    if signature is None:
        msg = f"then takes a task or task.bind(…), not {then!r}; nothing was sent"
        raise BadArgument(msg)
    given = {} if signature.group_parameter is None else {signature.group_parameter: GroupResult.later()}
    return Call(then, signature.body((), given))


def _reader_of(then: Call[Any] | None) -> Read:
    return plain_reader() if then is None else reader(then)


def _listed(calls: Iterable[Call[R]]) -> list[Call[R]]:
    given: object = calls
    many = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    odd = many if isinstance(given, Call) else [one for one in many if not isinstance(one, Call)]
    if odd:
        msg = f"submit_many takes a list of task.bind(…), not {odd[0]!r}; nothing was sent"
        raise BadArgument(msg)
    return cast("list[Call[R]]", many)
