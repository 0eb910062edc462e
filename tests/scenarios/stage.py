"""A stage: a place for messages, the processes that use it, and a judge who looks at what they left behind.

The place is a ground (`grounds.py`): a SQLite file, or a prefix on a Redis or Valkey server. Tests submit from their
own process through the public API, wait for things to be seen (never for time to pass), do harm to processes they
started, and end with `stage.verdict()`: the same questions for every scenario. Settings are given to `Stage.configure`
before the first worker starts.
"""

import asyncio
import math
import os
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from tests.standstill import check_duration

from tenure import Tenure
from tenure.client.browse_all import browse_all
from tenure.clock import SYSTEM_CLOCK
from tenure.config import settings_from
from tenure.errors import BrokerUnavailable
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.probe import SYSTEM_PROBE
from tenure.query import Browsed, Query
from tenure.record import Record
from tenure.rules import presence

from .alerts import raised, unexpected
from .figures import Figures
from .grounds import FIGURES, Ground, SQLiteGround
from .process import Process
from .tasks import register
from .traces import Run, Traces
from .verdict import Verdict, judge

T = TypeVar("T")

#: How long anything that should happen soon may take on a slow machine.
SOON = 60.0


class Stage:
    """Where one scenario takes place."""

    def __init__(self, folder: Path, ground: Ground) -> None:
        """Stand on `ground`; keep what the judge needs in `folder`."""
        self.folder = folder
        self.ground = ground
        self.traces = Traces(folder)
        self.traces.prepare()
        self.sent: list[str] = []
        self.processes: list[Process] = []
        self._options = ""
        self._process_options = ""
        self._settings = {"TENURE_LEASE": "1", "TENURE_SWEEP_INTERVAL": "0.25", "TENURE_GRACE": "10"}
        self._loop = asyncio.Runner()
        self._app: Tenure | None = None
        self._closed = False
        self._slowest_return = 0.0
        self._durations: list[tuple[str, float, float]] = []
        self._last_words: tuple[Verdict, set[str]] | None = None
        #: Alerts that fired by the end; in a soak.
        self._alerts: set[str] = set()

    # -- setting up --------------------------------------------------------------------------------

    def configure(self, *, options: str = "", process_options: str = "", **settings: float | str) -> None:
        """Settings by their `TENURE_*` name in small letters.

        `options` go to the URL, as `name=value`; `process_options` to that of the processes alone.
        """
        if self._app is not None:
            msg = "the settings are read already"
            raise RuntimeError(msg)
        self._options = options or self._options
        self._process_options = process_options or options or self._process_options
        self._settings |= {f"TENURE_{name.upper()}": str(value) for name, value in settings.items()}

    @property
    def database(self) -> Path:
        """The file, in scenarios that are about SQLite."""
        if not isinstance(self.ground, SQLiteGround):
            msg = "this ground has no file"
            raise TypeError(msg)
        return self.ground.database

    @property
    def environment(self) -> dict[str, str]:
        """For processes."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        url = self.ground.url_of_processes(self._process_options)
        return clean | self._settings | {"TENURE_URL": url, "SCENARIO": str(self.folder)}

    @property
    def app(self) -> Tenure:
        """The test's own app, for submitting and looking."""
        if self._app is None:
            self._app = Tenure(self.ground.url(self._options), settings=settings_from(self.environment))
            register(self._app)
        return self._app

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Await something of the app's."""
        return self._loop.run(work)

    # -- processes ---------------------------------------------------------------------------------

    def start(self, *words: str, through: Sequence[str] = ()) -> Process:
        """Start `python <words>`, by the command `through` if there is one."""
        log = self.folder / f"process-{len(self.processes) + 1}.log"
        process = Process(words, self.environment, log, through=through)
        self.processes.append(process)
        return process

    def start_worker(self, concurrency: int = 10) -> Process:
        """Start `tenure worker`, and do not wait for it."""
        return self.start("-m", "tenure", *self._words(concurrency))

    def worker(self, concurrency: int = 10, *, module: str = "tenure", queue: str = "") -> Process:
        """Start `tenure worker`, and wait until it works. `module` is a stand-in that takes the same words."""
        process = self.start("-m", module, *self._words(concurrency), *(["--queue", queue] if queue else []))
        self.until(lambda: process.pid in self.alive() or process.exit_code is not None, "a worker joins")
        if process.exit_code is not None:
            msg = f"a worker ended with {process.exit_code} at once\n{process.said}"
            raise AssertionError(msg)
        return process

    def _words(self, concurrency: int) -> list[str]:
        return ["worker", "scenarios.served:app", "--verbose", "--concurrency", str(concurrency)]

    def alive(self) -> set[int]:
        """The pids on the roster."""
        self.do(self.app.open())
        return {owner.pid for owner in presence.judge(self.do(self.app.state.roster.members()), SYSTEM_PROBE).owners}

    def freeze(self, process: Process) -> None:
        """Freeze a process at a moment when the others can go on."""
        self.ground.freeze(process)

    def open_gate(self, gate: str) -> float:
        """Let those pass who wait for it; when that was."""
        (self.folder / gate).touch()
        return SYSTEM_CLOCK.monotonic()

    def order_halt(self, moment: Sequence[str]) -> None:
        """Have the process of `halting.py` stop at that moment."""
        draft = self.folder / "halt.draft"
        draft.write_text("\n".join(moment))
        draft.rename(self.folder / "halt")

    # -- messages ----------------------------------------------------------------------------------

    def submit(self, task: str, payload: dict[str, Any], *, count: int = 1, **options: Any) -> list[str]:
        """Send messages; their ids."""
        ids = []
        for _ in range(count):
            handle = self.do(self.app.submit(task, payload, **options))
            ids.append(handle.id)
        self.sent += [id for id in ids if id not in self.sent]
        return ids

    def submit_many(self, task: str, payloads: Iterable[dict[str, Any]], **options: Any) -> list[str]:
        """Send messages in one go; their ids."""
        bound = self.app.tasks[task]
        handles = self.do(self.app.submit_many([bound.bind(**payload).having(**options) for payload in payloads]))
        ids = [handle.id for handle in handles]
        self.sent += ids
        return ids

    def record(self, id: str) -> Record:
        """What is known about a message."""
        record = self.do(self.app.record(id))
        assert record is not None, f"message {id} is lost"
        return record

    def records(self) -> dict[str, Record | None]:
        """What is known about every message that was sent."""
        return {id: self.do(self.app.record(id)) for id in self.sent}

    def states(self, ids: Iterable[str]) -> list[MessageState]:
        """Where messages are."""
        return [self.record(id).state for id in ids]

    def events(self, *kinds: EventKind) -> list[Event]:
        """What the journal says, of these kinds or of all."""
        events: list[Event] = []
        after = 0
        while page := self.do(self.app.state.journal.read(after)):
            after = page[-1].seq
            events += [stored.event for stored in page if not kinds or stored.event.kind in kinds]
        return events

    def holders(self) -> Counter[int]:
        """Which processes hold how many messages, without disturbing anybody."""
        self.do(self.app.open())
        lent = self.browse(MessageState.LEASED)
        return Counter(int((one.owner or ":0/").partition(":")[2].partition("/")[0]) for one in lent)

    def browse(self, state: MessageState) -> list[Browsed]:
        """The messages of the app's queue in this state."""

        async def read() -> list[Browsed]:
            query = Query(states=(state,), queues=(self.app.queue,), limit=1000)
            return [one async for one in browse_all(self.app.broker, query)]

        return self.do(read())

    def runs(self, ids: Sequence[str] | None = None) -> list[Run]:
        """Runs in order of their start, of these messages or of all."""
        return [run for run in self.traces.runs() if ids is None or run.id in ids]

    # -- waiting -----------------------------------------------------------------------------------

    def until(self, seen: Callable[[], object], what: str, within: float = SOON) -> float:
        """Wait until something is seen; when that was. Fails after `within` seconds.

        While the store is away nothing is seen.
        """
        deadline = SYSTEM_CLOCK.monotonic() + within
        while not _sees(seen):
            if SYSTEM_CLOCK.monotonic() > deadline:
                msg = f"waited {within:g} s in vain until {what}"
                raise AssertionError(msg)
            time.sleep(0.01)
        return SYSTEM_CLOCK.monotonic()

    def until_started(self, count: int, ids: Sequence[str] | None = None, within: float = SOON) -> float:
        """Wait until so many runs have started."""
        return self.until(lambda: len(self.runs(ids)) >= count, f"{count} runs have started", within)

    def until_settled(self, within: float = SOON) -> float:
        """Wait until no message is ready, delayed or leased."""
        return self.until(lambda: self.unsettled() == 0, "every message is settled", within)

    def until_swept(self) -> float:
        """Wait for the next sweep of anybody."""
        before = self.ground.last_sweep()
        return self.until(lambda: self.ground.last_sweep() != before, "there was another sweep")

    def unsettled(self) -> int:
        """How many messages are ready, delayed or leased."""
        self.do(self.app.open())
        depths = self.do(self.app.broker.depth())
        return sum((d.ready or 0) + (d.delayed or 0) + (d.leased or 0) for d in depths)

    # -- the end -----------------------------------------------------------------------------------

    def verdict(
        self, *, dead: Iterable[str] = (), unfinished: Iterable[str] = (), may_overlap: Iterable[str] = ()
    ) -> Verdict:
        """Ask what every scenario must answer; fails with everything that is wrong.

        `dead` and `unfinished` must be exactly those messages; all others must be completed. Only the
        messages in `may_overlap` may have been run by two at a time.
        """
        verdict = judge(self.records(), self.traces, self.processes, self.events())
        wrong = verdict.complaints(dead=set(dead), unfinished=set(unfinished), may_overlap=set(may_overlap))
        self._last_words = (verdict, set(may_overlap))
        if FIGURES:
            self._alerts = self.do(raised(self.app))
            wrong += [
                f"alert {name} fired for nothing"
                for name in unexpected(self._alerts, os.environ["PYTEST_CURRENT_TEST"])
            ]
        assert not wrong, "\n".join(wrong)
        return verdict

    def measured(self, what: str, seconds: float, at_most: float = math.inf) -> float:
        """Say how long something took (see `pytest -rP`). Over its bound, the test fails after all else is judged."""
        print(f"measured: {what}: {seconds:.2f} s")  # noqa: T201 - for people who ask for it
        self._durations.append((what, seconds, at_most))
        return seconds

    def measured_return(self, what: str, seconds: float, at_most: float = math.inf) -> float:
        """The same, for how long it took until what a dead worker held could be leased again."""
        self._slowest_return = max(self._slowest_return, seconds)
        return self.measured(f"from kill -9 until its messages are free, {what}", seconds, at_most)

    def check_durations(self) -> None:
        """Raise `TookTooLong` for a duration over its bound. Last of all: it must not hide another failure."""
        for what, seconds, at_most in self._durations:
            check_duration(what, seconds, at_most)

    def figures(self) -> Figures:
        """What a soak wants to know."""
        verdict, may_overlap = self._last_words or (None, set())
        return Figures(
            messages=len(self.sent),
            kills=sum(process.killed_at is not None for process in self.processes),
            lost=len(verdict.lost) if verdict else 0,
            twice=len(verdict.effects_twice) if verdict else 0,
            late=len(verdict.late) if verdict else 0,
            overlaps=len(set(verdict.overlaps) - may_overlap) if verdict else 0,
            slowest_return=self._slowest_return,
            alerts=sorted(self._alerts),
        )

    def close(self) -> None:
        """End every process, close the app, and show what was said if the test failed. Again: nothing."""
        if self._closed:
            return
        self._closed = True
        if FIGURES:
            self.figures().append_to(Path(FIGURES))
        for process in self.processes:
            process.end()
        with suppress(Exception):  # a test that broke the store on purpose may have left it so
            if self._app is not None:
                self.do(self._app.close())
        self._loop.close()
        for number, process in enumerate(self.processes, 1):
            print(f"-- process {number} ({process.pid}, exit code {process.exit_code})\n{process.said}")  # noqa: T201


def _sees(seen: Callable[[], object]) -> bool:
    try:
        return bool(seen())
    except BrokerUnavailable:
        return False
