"""The supervisor: the parent of several worker processes.

It starts them, starts those that die again (more slowly each time, unless they lived a while), and is the first to
know of a death: `waitpid` is proof, so what the dead one held is returned at once, whatever its leases. It never
imports the user's code: what kills a worker, at import too, does not kill it. Where that is asked for it also beats
for its children's leases (`keeping.py`).

A child that cannot start for a reason that will not go away (a bad setting, a module that does not import) ends the
supervisor with the child's own exit code. SIGTERM and SIGINT are passed on; the second one hurries.

Made by the command line. One child is `ward.py`; what the dead held is returned by `burying.py`.
"""

import asyncio
import contextlib
import logging
import signal
from collections import Counter
from collections.abc import Callable, Sequence

from tenure.broker import Broker
from tenure.clock import Clock
from tenure.plural import plural
from tenure.runtime import orders
from tenure.runtime.burying import Cemetery
from tenure.runtime.children import describe_exit
from tenure.runtime.keeping import Keeping
from tenure.runtime.sideloop import cancel
from tenure.runtime.slate import Note
from tenure.runtime.spawning import ChildFailed
from tenure.runtime.stacks.silent_workers import SilentWorkers
from tenure.runtime.ward import Change, Ward, spawn
from tenure.state import State

logger = logging.getLogger("tenure.supervisor")

FIRST_PAUSE_SECONDS = 0.1
MOST_PAUSE_SECONDS = 30.0
#: Whoever lived so long starts at once when it dies, as if it were the first time.
LONG_LIFE_SECONDS = 60.0
#: Children that die before one of them ever worked: after so many deaths in a row of one there is no hope.
HOPELESS_DEATHS = 5
#: Told to hurry, a child gets so long; then it is killed.
HURRY_SECONDS = 15.0
#: Exit codes by which a child says that it could not start; the first of them also later (bad configuration).
_CANNOT_START = (2, 1, 70)
#: So many ids are named in a log line.
_NAMED = 5
_STOP = (signal.SIGTERM, signal.SIGINT)
#: Some service managers signal a process and then its group: two signals at once are one.
_SAME_SIGNAL_SECONDS = 0.1


class Supervisor:
    """Runs `processes` child workers until it is told to stop."""

    def __init__(
        self, words: Callable[[int], Sequence[str]], *, processes: int, clock: Clock,
        connect: Callable[[str], tuple[Broker, State]], keeps_leases: bool = False, until_done: bool = False,
    ) -> None:  # fmt: skip
        """`words(number)` is the command line of a child; `connect` leads to the place that the children name.

        `until_done`: a child that ends well has done all there was to do, and no other takes its place.
        """
        self._words = words
        self._processes = processes
        self._clock = clock
        self._keeps_leases = keeps_leases
        self._until_done = until_done
        self._wards: dict[int, Ward] = {}
        self._cemetery = Cemetery(connect, clock)
        self._silent = SilentWorkers(self._wards.values, self._cemetery.opened, clock)
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
        """Work until told to stop; the exit code. Raises `ChildFailed` where children die before they can work."""
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
            for ward in self._wards.values():
                ward.send(signal.SIGKILL)
            await self._cemetery.close()
        return self._exit_code

    # -- one place among the children --------------------------------------------------------------

    async def _first_step(self) -> None:
        waiting = [asyncio.ensure_future(self._someone_worked.wait()), asyncio.ensure_future(self._stop_asked.wait())]
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            await cancel(waiting)

    async def _tend(self, number: int) -> None:
        """Keep one child running."""
        pause, deaths = FIRST_PAUSE_SECONDS, 0
        while not self._stop_asked.is_set():
            now = self._clock.monotonic()
            ward = await spawn(number, self._words(number), self._hear, keeps_leases=self._keeps_leases, now=now)
            self._wards[number] = ward
            if self._stop_asked.is_set():
                ward.send(signal.SIGTERM)
            self._look()  # it may have ended before we could be told
            exit_code = await ward.ended
            lived = self._clock.monotonic() - ward.started_at
            note = ward.note
            await ward.close()
            del self._wards[number]
            self._tell_death(ward, exit_code, note)
            is_done = self._until_done and exit_code == 0
            if is_done or self._stop_asked.is_set() or self._cannot_start(ward, exit_code):
                return
            deaths = 0 if self._someone_worked.is_set() else deaths + 1
            if deaths >= HOPELESS_DEATHS:
                self.ask_to_stop()
                msg = (
                    f"worker processes die before they can work; the last one {describe_exit(exit_code)}. Nothing was "
                    "run. Start one without --processes to see why"
                )
                raise ChildFailed(msg)
            pause = FIRST_PAUSE_SECONDS if lived >= LONG_LIFE_SECONDS else pause
            logger.debug("process %d starts again in %.1f s", number, pause)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._stop_asked.wait()
            pause = min(MOST_PAUSE_SECONDS, pause * 2)

    def _cannot_start(self, ward: Ward, exit_code: int) -> bool:
        """Whether it gave up by itself, for a reason that it has told and that will be the same the next time."""
        fatal = _CANNOT_START[:1] if self._someone_worked.is_set() else _CANNOT_START
        if ward.has_worked or exit_code not in fatal:
            return False
        logger.error("process %d cannot start, so all of them end", ward.number)
        self._exit_code = exit_code
        self.ask_to_stop()
        return True

    async def _hear(self, ward: Ward, frame: orders.FromWard) -> None:
        match frame:
            case orders.Arrived(url):
                self._cemetery.locate(url)
                if self._keeps_leases:
                    await self._keep(ward)
            case orders.Enlisted(owner):
                self.owners.append(owner.id)
            case orders.Working():
                ward.has_worked = True
                self._someone_worked.set()
            case orders.Farewell(counts, given_back):
                self.counts.update(counts)
                self.given_back.update(given_back)
            case _:
                if ward.keeping is not None:
                    ward.keeping.hear(frame)

    # -- the dead ----------------------------------------------------------------------------------

    def _look(self) -> None:
        for ward in list(self._wards.values()):
            change = ward.look()
            while change is not None and change is not Change.ENDED:
                if ward.keeping is not None:
                    (ward.keeping.freeze if change is Change.FROZEN else ward.keeping.thaw)()
                change = ward.look()

    def _tell_death(self, ward: Ward, exit_code: int, note: Note | None) -> None:
        if exit_code == 0:
            if not self._stop_asked.is_set() and not self._until_done:
                logger.info("process %d (pid %d) ended by itself; another takes its place", ward.number, ward.pid)
            return
        how = f"process {ward.number} (pid {ward.pid}) {describe_exit(exit_code)}"
        owner = note.owner if note is not None else ""
        if not owner or note is None:
            logger.warning("%s before it could lease anything", how)
            return
        self.deaths += 1
        self._cemetery.bury(owner, f"{how} while it ran {_named(note)}")

    # -- their leases, where we keep them ----------------------------------------------------------

    async def _keep(self, ward: Ward) -> None:
        """Beat for what it will hold; until we can, it is not listened to, and so does not get far."""
        what = f"keeping the leases of process {ward.number}"
        broker, state = await self._cemetery.until_it_works(self._cemetery.opened, what)
        ward.keeping = Keeping(broker, state.ledger, self._clock, ward.tell)
        ward.beating = asyncio.create_task(self._beat_for(ward, ward.keeping))

    async def _beat_for(self, ward: Ward, keeping: Keeping) -> None:
        try:
            await keeping.run()
        except Exception:
            # Nobody beats for it any more: it must not look as if somebody did.
            logger.critical("the heartbeat of process %d died; so does the process", ward.number, exc_info=True)
            ward.send(signal.SIGKILL)

    # -- stopping ----------------------------------------------------------------------------------

    def listen(self) -> None:
        """Take over the signals; before `run`."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGCHLD, self._look)
        for number in _STOP:
            loop.add_signal_handler(number, self._on_signal)

    def ignore(self) -> None:
        """All is done: a signal that comes while the process ends must not make it look killed."""
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
            many = plural(len(self._wards), "process", "processes")
            logger.info("stopping %s; again to stop them now", many)
            for ward in self._wards.values():
                ward.send(signal.SIGTERM)
            return
        logger.info("stopping %s now", plural(len(self._wards), "process", "processes"))
        for ward in self._wards.values():
            ward.tell(orders.Hurry())
            asyncio.get_running_loop().call_later(HURRY_SECONDS, ward.send, signal.SIGKILL)


def _named(note: Note) -> str:
    if not note.ids:
        return "nothing"
    more = note.more + max(0, len(note.ids) - _NAMED)
    return ", ".join(note.ids[:_NAMED]) + (f" and {more} more" if more else "")
