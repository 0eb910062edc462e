"""The supervisor: the parent of several worker processes.

It starts them, restarts those that die (more slowly each time, unless they lived a while), and is the first to know of
a death: `waitpid` is proof, so what the dead one held is returned at once, however long its leases are. It never
imports the user's code, so code that kills a worker, even at import, does not kill it. With `--heartbeat supervisor` it
also renews its children's leases (`lease_keeper.py`). A child that an operator drained or stopped is not replaced.

A child that cannot start for a reason that will not go away (a bad setting, a module that does not import) ends the
supervisor with the child's own exit code. SIGTERM and SIGINT are passed on; the second one hurries.

Made by the command line. One child is `worker_process.py`; `retire_dead.py` returns what the dead held.
"""

import asyncio
import contextlib
import logging
import signal
from collections import Counter
from collections.abc import Callable, Sequence

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.rules.backoff import backoff_seconds
from tenure.runtime.background.side_thread import cancel
from tenure.runtime.processes.child_process import ChildFailed
from tenure.runtime.processes.pool import describe_exit
from tenure.runtime.supervisor import protocol
from tenure.runtime.supervisor.lease_keeper import LeaseKeeper
from tenure.runtime.supervisor.process_metrics import ProcessMetrics
from tenure.runtime.supervisor.retire_dead import DeadRetirement
from tenure.runtime.supervisor.shared_status import RunningNote
from tenure.runtime.supervisor.silent_workers import SilentWorkers
from tenure.runtime.supervisor.worker_process import ProcessChange, WorkerProcess, spawn
from tenure.state import State
from tenure.text.plural import plural

logger = logging.getLogger("tenure.supervisor")

FIRST_PAUSE_SECONDS = 0.1
MOST_PAUSE_SECONDS = 30.0
#: A process that lived so long is restarted at once when it dies, as if it were the first time.
LONG_LIFE_SECONDS = 60.0
#: Children that die before one of them ever worked: after this many deaths in a row of one there is no hope.
HOPELESS_DEATHS = 5
#: After the second signal a child gets so long; then it is killed.
HURRY_SECONDS = 15.0
#: Exit codes by which a child says that it could not start; the first of them also later (bad configuration).
_CANNOT_START = (2, 1, 70)
#: This many ids are named in a log line.
_NAMED = 5
_STOP = (signal.SIGTERM, signal.SIGINT)
#: Some service managers signal a process and then its group: two signals at once are one.
_SAME_SIGNAL_SECONDS = 0.1


class Supervisor:
    """Runs `processes` child workers until it is stopped."""

    def __init__(
        self,
        words: Callable[[int], Sequence[str]],
        *,
        processes: int,
        clock: Clock,
        connect: Callable[[str], tuple[Broker, State]],
        keeps_leases: bool = False,
        until_done: bool = False,
    ) -> None:
        """`words(number)` is the command line of a child; `connect` leads to the place that the children name.

        `until_done`: a child that ends well has done all there was to do, and no other takes its place.
        """
        self._words = words
        self._processes = processes
        self._clock = clock
        self._keeps_leases = keeps_leases
        self._until_done = until_done
        self._workers: dict[int, WorkerProcess] = {}
        self._retirement = DeadRetirement(connect, clock)
        self.metrics = ProcessMetrics(self._workers.values, clock)
        self._retirement.on_retired = self.metrics.note_events
        self._silent = SilentWorkers(self._workers.values, self._retirement.opened, clock)
        self._stop_asked = asyncio.Event()
        self._last_signal = -_SAME_SIGNAL_SECONDS
        self._someone_worked = asyncio.Event()
        self._exit_code = 0
        #: What the children did together, by their own words, and who they were.
        self.counts: Counter[str] = Counter()
        self.given_back: Counter[str] = Counter()
        self.owners: list[str] = []
        #: How many died.
        self.deaths = 0

    async def run(self) -> int:
        """Work until stopped; returns the exit code. Raises `ChildFailed` where children die before they can work."""
        watching = asyncio.create_task(self._silent.run())
        try:
            async with asyncio.TaskGroup() as group:
                # The first one shows whether it can be done at all: one error, not one from each.
                group.create_task(self._tend(1))
                await self._first_step()
                for number in range(2, self._processes + 1):
                    group.create_task(self._tend(number))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None
        finally:
            await cancel([watching])
            for worker in self._workers.values():
                worker.send(signal.SIGKILL)
            await self._retirement.close()
        return self._exit_code

    @property
    def held(self) -> int:
        """The number of messages that its processes run now."""
        notes = [note for worker in self._workers.values() if (note := worker.note) is not None]
        return sum(len(note.ids) + note.more for note in notes)

    async def worked(self) -> None:
        """Return once one of the children works."""
        await self._someone_worked.wait()

    async def asked_to_stop(self) -> None:
        """Return once it was asked to stop."""
        await self._stop_asked.wait()

    # -- one place among the children --------------------------------------------------------------

    async def _first_step(self) -> None:
        waiting = [asyncio.ensure_future(self._someone_worked.wait()), asyncio.ensure_future(self._stop_asked.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel(waiting)

    async def _tend(self, number: int) -> None:
        """Keep one child running."""
        early_ends, deaths = 0, 0
        while not self._stop_asked.is_set():
            now = self._clock.monotonic()
            worker = await spawn(number, self._words(number), self._hear, keeps_leases=self._keeps_leases, now=now)
            self._workers[number] = worker
            if self._stop_asked.is_set():
                worker.send(signal.SIGTERM)
            self._look()  # it may have ended before the signal could reach us
            exit_code = await worker.ended
            lived = self._clock.monotonic() - worker.started_at
            note = worker.note
            await worker.close()
            del self._workers[number]
            self.metrics.note_end(worker, died=exit_code != 0)
            self._tell_death(worker, exit_code, note)
            is_done = exit_code == 0 and (self._until_done or bool(worker.left))
            if is_done or self._stop_asked.is_set() or self._cannot_start(worker, exit_code):
                return
            deaths = 0 if self._someone_worked.is_set() else deaths + 1
            if deaths >= HOPELESS_DEATHS:
                self.ask_to_stop()
                msg = (
                    f"worker processes die before they can work; the last one {describe_exit(exit_code)}. Nothing was "
                    "run. Start one without --processes to see why"
                )
                raise ChildFailed(msg)
            early_ends = 1 if lived >= LONG_LIFE_SECONDS else early_ends + 1
            pause = backoff_seconds(early_ends, FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS)
            logger.debug("process %d starts again in %.1f s", number, pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stop_asked.wait()

    def _cannot_start(self, worker: WorkerProcess, exit_code: int) -> bool:
        """Whether it gave up by itself, for a logged reason that will be the same the next time."""
        fatal = _CANNOT_START[:1] if self._someone_worked.is_set() else _CANNOT_START
        if worker.has_worked or exit_code not in fatal:
            return False
        logger.error("process %d cannot start; stopping all of them", worker.number)
        self._exit_code = exit_code
        self.ask_to_stop()
        return True

    async def _hear(self, worker: WorkerProcess, frame: protocol.FromWorker) -> None:
        match frame:
            case protocol.Arrived(url):
                self._retirement.locate(url)
                if self._keeps_leases:
                    await self._keep(worker)
            case protocol.Enlisted(owner):
                self.owners.append(owner.id)
            case protocol.Working():
                worker.has_worked = True
                self._someone_worked.set()
            case protocol.MetricsShown():
                self.metrics.hear(frame)
            case protocol.Farewell(counts, given_back, left, samples):
                worker.left = left
                self.metrics.note_last(worker, samples)
                self.counts.update(counts)
                self.given_back.update(given_back)
            case _:
                if worker.keeping is not None:
                    worker.keeping.hear(frame)

    # -- the dead ----------------------------------------------------------------------------------

    def _look(self) -> None:
        for worker in list(self._workers.values()):
            change = worker.look()
            while change is not None and change is not ProcessChange.ENDED:
                if worker.keeping is not None:
                    (worker.keeping.freeze if change is ProcessChange.FROZEN else worker.keeping.thaw)()
                change = worker.look()

    def _tell_death(self, worker: WorkerProcess, exit_code: int, note: RunningNote | None) -> None:
        if exit_code == 0:
            if worker.left:
                logger.info("process %d (pid %d) was %s; it is not replaced", worker.number, worker.pid, worker.left)
            elif not self._stop_asked.is_set() and not self._until_done:
                logger.info("process %d (pid %d) ended by itself; starting another", worker.number, worker.pid)
            return
        how = f"process {worker.number} (pid {worker.pid}) {describe_exit(exit_code)}"
        owner = note.owner if note is not None else ""
        if not owner or note is None:
            logger.warning("%s before it could lease anything", how)
            return
        self.deaths += 1
        self._retirement.bury(owner, f"{how} while it ran {_named(note)}")

    # -- their leases, where we keep them ----------------------------------------------------------

    async def _keep(self, worker: WorkerProcess) -> None:
        """Renew the leases that it will hold. Until this works we do not read its frames, so it starts no work."""
        what = f"renewing the leases of process {worker.number}"
        broker, state = await self._retirement.until_it_works(self._retirement.opened, what)
        worker.keeping = LeaseKeeper(broker, state.ledger, self._clock, worker.tell)
        worker.beating = asyncio.create_task(self._beat_for(worker, worker.keeping))

    async def _beat_for(self, worker: WorkerProcess, keeping: LeaseKeeper) -> None:
        try:
            await keeping.run()
        except Exception:
            # Its leases are not renewed any more: it must not look as if they were.
            logger.critical("the heartbeat of process %d died; killing the process", worker.number, exc_info=True)
            worker.send(signal.SIGKILL)

    # -- stopping ----------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take over the signals; before `run`."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._look)
        for number in _STOP:
            loop.add_signal_handler(number, self._on_signal)

    def ignore(self) -> None:
        """Ignore signals once all is done: one that comes while the process ends must not make it look killed."""
        loop = asyncio.get_running_loop()
        loop.remove_signal_handler(signal.SIGCHLD)
        for number in _STOP:
            loop.remove_signal_handler(number)
            signal.signal(number, signal.SIG_IGN)

    def _on_signal(self) -> None:
        now = self._clock.monotonic()
        if now - self._last_signal >= _SAME_SIGNAL_SECONDS:
            self._last_signal = now
            self.ask_to_stop()

    def ask_to_stop(self) -> None:
        """First time: let the children finish within their grace. Second time: have them give everything back now."""
        if not self._stop_asked.is_set():
            self._stop_asked.set()
            many = plural(len(self._workers), "process", "processes")
            logger.info("stopping %s; signal again to stop them now", many)
            for worker in self._workers.values():
                worker.send(signal.SIGTERM)
            return
        logger.info("stopping %s now", plural(len(self._workers), "process", "processes"))
        for worker in self._workers.values():
            worker.tell(protocol.Hurry())
            asyncio.get_running_loop().call_later(HURRY_SECONDS, worker.send, signal.SIGKILL)


def _named(note: RunningNote) -> str:
    if not note.ids:
        return "nothing"
    more = note.more + max(0, len(note.ids) - _NAMED)
    return ", ".join(note.ids[:_NAMED]) + (f" and {more} more" if more else "")
