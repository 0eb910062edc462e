"""The kit: an app in memory and in virtual time, real workers on demand, and faults to order.

    async def test_publishing_survives_a_crash(kit):
        kit.crash_worker()
        await publish.submit("article-1")
        await kit.drain()
        assert published == ["article-1"]

For as long as a kit is open its app keeps messages in memory and takes its time from the kit; the place that the
app was made with is not touched. Handlers run in the real worker, with middleware, lifespan, schedules, keys and
retries. Nothing runs but within `drain` and `advance`.

The pytest plugin makes one for each test (`plugin.py`), and moves the app before the test begins (`_moved`). Behind it:
`crew.py`, `faults.py`, `view.py`, `patience.py`, `promised.py`.
"""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any, Self, TypeVar, cast, get_args

from tenure import assembly
from tenure.app import Tenure
from tenure.client.operations.bulk import BulkResult
from tenure.client.operations.dead import DeadQuery
from tenure.client.operations.operate import Operate
from tenure.event import Event
from tenure.tasks.task import Task
from tenure.testing.crew import Workers
from tenure.testing.faults import Crash, FaultNotStruck, Faults, KitError, LostAck, LostLease, Outage, When
from tenure.testing.mortal import Mortal
from tenure.testing.patience import MOST_RUNS, MOST_TIME, Patience, too_many_at_once
from tenure.testing.promised import NeverAwaited, Promised
from tenure.testing.view import Seen, View
from tenure.testing.virtual import VirtualClock, VirtualLoop, run_virtual

__all__ = ["Kit", "KitError", "NeverAwaited", "Seen"]

T = TypeVar("T")
#: A task, or its name.
Which = Task[..., Any] | str

#: How often a drain looks whether it is done, in virtual seconds: at first, and at last.
_LOOK_SECONDS = (0.05, 1.0)
#: An idle stretch that is longer than this is leapt over; the worker gets the last moments of it to wake up in.
_LEAP_SECONDS, _AWAKE_SECONDS = 5.0, 2.0
#: What falls due at the very end of an `advance` is to be done by then.
_SLACK_SECONDS = 0.05
#: This many reads of a message that no worker runs are allowed, then it is a mistake of the test.
_MOST_QUESTIONS = 1_000
_NOT_OPEN = "this kit is not open: use it in an async test (`async def test_…(kit)`), or in `async with Kit(app)`"


class Kit:
    """An app under test: `async with Kit(app) as kit:`, or the fixture `kit`."""

    def __init__(self, app: Tenure) -> None:
        """Make a kit for an app. The app changes when the kit is entered."""
        #: The app under test.
        self.app = app
        self._stack = contextlib.AsyncExitStack()
        self._parts: tuple[VirtualClock, Workers, View] | None = None
        self._is_entered = False
        self._faults = Faults()
        self._promised = Promised()
        self._asked: tuple[str, int] = ("", 0)

    @classmethod
    def run(cls, app: Tenure, test: Callable[["Kit"], Coroutine[Any, Any, T]]) -> T:
        """Run one async test function with a kit, in virtual time, where there is no pytest."""

        async def main() -> T:
            async with cls(app) as kit:
                return await test(kit)

        return run_virtual(main())

    # -- its life ----------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        """Move the app to memory and virtual time."""
        loop = asyncio.get_running_loop()
        if not isinstance(loop, VirtualLoop):
            msg = "a kit needs virtual time: use the fixture `kit` in an async test, or Kit.run(app, test)"
            raise KitError(msg)
        if self._parts is None:
            self._stack.enter_context(self._moved(loop.clock))
        clock, crew, _ = self._open
        if clock is not loop.clock:
            msg = "this kit was moved to the time of another event loop: enter it in the test that it was made for"
            raise KitError(msg)
        self.app.middleware.insert(0, crew.middleware)
        self._stack.callback(self.app.middleware.remove, crew.middleware)
        self._stack.push_async_callback(crew.end)
        self._is_entered = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Put the app back to its place. Raises `NeverAwaited` or `FaultNotStruck` where the test proved nothing."""
        __tracebackhide__ = True
        try:
            await self._stack.aclose()
        finally:
            self._is_entered = False
        self._promised.check(error)
        never = self._faults.not_struck()
        if never and error is None:
            msg = (
                f"{', '.join(never)}: it never happened, so this test proves nothing about it. No handler came that "
                "far: submit the message after arming the fault, then await kit.drain()"
            )
            raise FaultNotStruck(msg)

    @contextlib.contextmanager
    def _moved(self, clock: VirtualClock) -> Iterator[Self]:
        """Move the app to memory and to `clock`, before there is a loop: what fixtures send by then goes there too."""
        broker, state = assembly.connect("memory://", clock=clock)
        crew = Workers(self.app, broker, cast("Mortal", state), clock, self._faults, self._heard)
        crew.outside.spy = self._watch_questions
        self._parts = (clock, crew, View(self.app, broker, state, crew.runs))
        try:
            with self.app._elsewhere(crew.outside.broker, crew.outside.state, clock):
                yield self
        finally:
            self._parts = None

    @property
    def _is_moved(self) -> bool:
        """Whether the app is in memory now, and the kit has a clock."""
        return self._parts is not None

    # -- letting work happen -----------------------------------------------------------------------

    def drain(self, *, runs: int = MOST_RUNS, within: timedelta = MOST_TIME) -> Coroutine[Any, Any, None]:
        """Let workers run all that is ready, and all that follows from it; delays of retries pass in virtual time.

        What its sender delayed (`delay=`, `at=`) stays, as do the future ticks of schedules: see `advance`. Raises
        `KitError` when it takes more than `runs` runs of handlers or `within` of virtual time.
        """
        return self._promised.take("kit.drain()", self._drain(runs, within))

    async def _drain(self, runs: int, within: timedelta) -> None:
        __tracebackhide__ = True
        clock, crew, view = self._with_tasks()
        if not view.in_motion() and not view.is_announcing():
            return
        patience = Patience(clock, runs=runs, within=within)
        pause, longest = _LOOK_SECONDS
        async with crew.at_work():
            crew.allow(runs)
            while (in_motion := view.in_motion()) or view.is_announcing():
                patience.check(in_motion, is_out_of_runs=crew.is_out_of_runs)
                self._leap(patience.seconds_left)
                await crew.work_for(pause)
                await crew.check()
                pause = min(longest, pause * 1.1)

    def advance(
        self, *, days: float = 0, hours: float = 0, minutes: float = 0, seconds: float = 0
    ) -> Coroutine[Any, Any, None]:
        """Let virtual time pass with a worker at work: delayed messages fall due, schedules tick, leases end.

        Idle stretches are leapt over: your own timers within one all fire at its end. Raises `KitError` when so much
        runs at one moment that time cannot advance.
        """
        span = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds).total_seconds()
        return self._promised.take("kit.advance(…)", self._advance(span))

    async def _advance(self, span: float) -> None:
        __tracebackhide__ = True
        clock, crew, view = self._with_tasks()
        if span <= 0:
            msg = f"advance({span:g} s) goes nowhere: say how much time passes, as in advance(hours=1)"
            raise KitError(msg)
        until = clock.monotonic() + span
        async with crew.at_work():
            while True:
                left = until - clock.monotonic()
                crew.allow(MOST_RUNS)  # from one look to the next
                await crew.work_for(min(left, _LOOK_SECONDS[1]) if left > 0 else _SLACK_SECONDS)
                await crew.check()
                if crew.is_out_of_runs:
                    raise too_many_at_once(view.in_motion())
                if left <= 0:
                    return
                self._leap(until - clock.monotonic())

    def _leap(self, most: float) -> None:
        """Skip time in which nothing happens but reads of the clock."""
        clock, crew, view = self._open
        idle = 0.0 if crew.is_busy or view.is_announcing() else min(most, view.idle_seconds())
        if idle > _LEAP_SECONDS:
            clock.now += idle - _AWAKE_SECONDS

    # -- looking -----------------------------------------------------------------------------------

    def sent(self, task: Which | None = None) -> list[Seen]:
        """Every message that was sent: by the test, by handlers, by schedules."""
        return self._only(self._open[2].sent(), task)

    def waiting(self, task: Which | None = None) -> list[Seen]:
        """Messages that are ready or delayed now."""
        return self._only(self._open[2].waiting(), task)

    def completed(self, task: Which | None = None) -> list[Seen]:
        """Completed messages, in the order of their completion."""
        return self._only(self._open[2].completed(), task)

    def dead(self, task: Which | None = None) -> list[Seen]:
        """Messages that are dead letters now."""
        return self._only(self._open[2].dead(), task)

    @property
    def events(self) -> list[Event]:
        """Every event so far, oldest first."""
        return self._open[2].events()

    @property
    def clock(self) -> VirtualClock:
        """The clock that app and test run on."""
        return self._open[0]

    @property
    def now(self) -> datetime:
        """The virtual time, with a time zone."""
        return datetime.fromtimestamp(self.clock.wall(), UTC)

    # -- acting ------------------------------------------------------------------------------------

    @property
    def operate(self) -> Operate:
        """Operate on the kit's store, as `app.operate` does."""
        self._open  # noqa: B018 - raises where the kit is not open
        return self.app.operate

    def redrive(self, task: Which | None = None, *, reason: str | None = None) -> Coroutine[Any, Any, BulkResult]:
        """Send dead letters back to their queue, all of them or those of a task or with the code of a reason.

        They run in the next `drain`.
        """
        query = DeadQuery(task=self._name(task), reason=reason)
        return self._promised.take("kit.redrive()", self._redrive(query))

    async def _redrive(self, query: DeadQuery) -> BulkResult:
        return await self.operate.redrive_all(query)

    # -- faults ------------------------------------------------------------------------------------

    def crash_worker(self, task: Which | None = None, *, when: When = "returned", after: float = 0.0) -> None:
        """Kill the worker of the next handler as `kill -9` does, after the handler returned and before that is stored.

        `when="running"`: it dies while the handler runs, `after` that many virtual seconds. Its death is found, and
        the message runs again on a new worker. Called twice, it kills two workers.
        """
        if when not in get_args(When):
            msg = f"when={when!r} is neither 'returned' nor 'running'"
            raise KitError(msg)
        said = _said("crash_worker", task, when=(when, "returned"), after=(after, 0.0))
        self._faults.arm(Crash(said=said, task=self._name(task), when=when, after_seconds=after))

    def lose_next_ack(self, task: Which | None = None, *, carried_out: bool = True) -> None:
        """Lose the answer to the next ack, which the store carried out; with `carried_out=False`, the ack itself."""
        said = _said("lose_next_ack", task, carried_out=(carried_out, True))
        self._faults.arm(LostAck(said=said, task=self._name(task), carried_out=carried_out))

    def lose_lease(self, task: Which | None = None) -> None:
        """Take the lease of the next handler away while it runs: its message is leased again and may run twice at once.

        This is what a freeze that is longer than the lease does. What the first run returns is refused.
        """
        self._faults.arm(LostLease(said=_said("lose_lease", task), task=self._name(task)))

    def fail_broker(self, *, seconds: float, task: Which | None = None) -> None:
        """Make the broker unreachable from the start of the next handler, for that many virtual seconds."""
        said = _said("fail_broker", task, seconds=(seconds, None))
        self._faults.arm(Outage(said=said, task=self._name(task), seconds=seconds))

    # -- behind it ---------------------------------------------------------------------------------

    @property
    def _open(self) -> tuple[VirtualClock, Workers, View]:
        __tracebackhide__ = True
        if self._parts is None:
            raise KitError(_NOT_OPEN)
        return self._parts

    def _with_tasks(self) -> tuple[VirtualClock, Workers, View]:
        __tracebackhide__ = True
        parts = self._open
        if not self._is_entered:
            raise KitError(_NOT_OPEN)
        if not self.app.tasks:
            msg = (
                "the app of this kit has no tasks, so there is nothing to run: return your own app from a fixture "
                "named tenure_app, or register tasks with @kit.app.task"
            )
            raise KitError(msg)
        return parts

    def _name(self, task: Which | None) -> str | None:
        """The name of one of this app's tasks; a name that nothing has would make every check pass."""
        __tracebackhide__ = True
        name = task.name if isinstance(task, Task) else task
        if name is not None and isinstance(task, Task) and self.app.tasks.get(name) is not task:
            msg = f"{task!r} is not a task of this kit's app: return its app from a fixture named tenure_app"
            raise KitError(msg)
        return None if name is None else self.app.find(name).name

    def _only(self, seen: list[Seen], task: Which | None) -> list[Seen]:
        name = self._name(task)
        return [one for one in seen if name in (None, one.task)]

    def _heard(self, name: str, arguments: tuple[Any, ...], answer: Any) -> None:
        self._open[2].heard(name, arguments, answer)

    def _watch_questions(self, name: str, arguments: tuple[Any, ...]) -> None:
        """Waiting for a result costs no time here, so a wait without a worker would last for ever."""
        _, crew, view = self._open
        if name != "records.get" or crew.is_working:
            self._asked = ("", 0)
            return
        id = arguments[0]
        times = self._asked[1] + 1 if self._asked[0] == id else 1
        self._asked = (id, times)
        record = view.record(id) if times > _MOST_QUESTIONS else None
        if record is not None and not record.is_finished:
            msg = (
                f"message {id} is {record.state}, and no worker runs: "
                "await kit.drain() or kit.advance(…) before you wait for its result"
            )
            raise KitError(msg)


def _said(word: str, task: Which | None, **options: tuple[object, object]) -> str:
    """A fault as the test wrote it."""
    given = [] if task is None else [task.name if isinstance(task, Task) else repr(task)]
    given += [f"{name}={value!r}" for name, (value, usual) in options.items() if value != usual]
    return f"kit.{word}({', '.join(given)})"
