"""One run of the demo: traffic, workers and kills; it shows what happens, then drains and checks the result.

send → (kill -9 every few seconds) → stop sending → drain → stop the workers → check
"""

import asyncio
import contextlib
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Protocol

import msgspec

from tenure.cli.commands.demo.board import DemoBoard
from tenure.cli.commands.demo.crew import Crew
from tenure.cli.commands.demo.glance import Glance, glance
from tenure.cli.commands.demo.reckoning import Reckoning, reckon
from tenure.cli.commands.demo.screen import Scene
from tenure.cli.commands.demo.tasks import build, effects_in
from tenure.cli.commands.demo.traffic import Traffic
from tenure.cli.commands.demo.web import DemoServer
from tenure.errors import BrokerUnavailable

_FRAME_SECONDS = 0.25
_EFFECTS_SECONDS = 1.0
_FIRST_KILL_SECONDS, _KILL_EVERY_SECONDS = 4.0, 7.0
_SLOTS = 25
_STOP_SECONDS = 12.0


class DemoPlan(msgspec.Struct, frozen=True):
    """What was asked for."""

    folder: Path
    #: None: until Ctrl-C.
    duration_seconds: float | None
    rate: float
    workers: int
    drain_seconds: float = 60.0
    #: After Ctrl-C people want to leave: less patience.
    drain_interrupted_seconds: float = 7.0


class Show(Protocol):
    """Where the scene is shown."""

    #: How many leases it shows with their progress.
    leases: int

    def update(self, scene: Scene) -> None:
        """Show a new scene; called a few times a second."""
        ...


class DemoRun:
    """One run of the demo."""

    def __init__(self, plan: DemoPlan, show: Show) -> None:
        """Nothing is started before `play`."""
        self._plan = plan
        self._show = show
        self._app = build(plan.folder)
        self._clock = self._app.clock
        self._effects = effects_in(plan.folder)
        self._doubled = 0
        self._glance = Glance()
        self._phase = "starting"
        self._looked = asyncio.Event()
        self._leave = asyncio.Event()
        self._hurry = asyncio.Event()
        self.board = DemoBoard()
        self.crew = Crew(plan.folder, plan.workers, _SLOTS, self._clock)
        self.traffic = Traffic(self._app, plan.rate, plan.duration_seconds)
        self.server = DemoServer(plan.folder)
        self.interrupted = False

    async def play(self) -> Reckoning:
        """Run it all; every process that was started is ended when this returns, however it returns."""
        self._start = self._clock.monotonic()
        self._listen()
        self._effects.create()
        try:
            async with self._app:
                self.board.place = await self._app.state.journal.last()
                await self._perform()
                return await reckon(self._app, self.traffic.sent, self._effects)
        finally:
            self.crew.end()
            self.server.end()

    def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._on_signal)

    def _on_signal(self) -> None:
        if self.interrupted:
            self._hurry.set()
        self.interrupted = True
        self._leave.set()

    async def _perform(self) -> None:
        crew = asyncio.ensure_future(self.crew.run())
        watching = asyncio.ensure_future(self._watch())
        serving = asyncio.ensure_future(self.server.start())
        try:
            await self._with((crew, watching), self._send_and_disturb())
            self._phase = "draining: sending has stopped"
            await self._with((crew, watching), self._drain())
            self._phase = "stopping the workers"
            await self.crew.stop(_STOP_SECONDS, now=self._glance.unfinished > 0)
        finally:
            await _end(watching)
            await _end(crew)
            await _end(serving)
            await self.server.stop()
        await self._look()

    async def _with(self, helpers: tuple[asyncio.Future[None], ...], work: Coroutine[Any, Any, None]) -> None:
        """Do `work`; if a helper fails meanwhile, fail with it."""
        working = asyncio.ensure_future(work)
        try:
            await asyncio.wait([working, *helpers], return_when=asyncio.FIRST_COMPLETED)
            for helper in helpers:
                if helper.done():
                    helper.result()
            await working
        finally:
            await _end(working)

    # -- the two acts ------------------------------------------------------------------------------

    async def _send_and_disturb(self) -> None:
        sending = asyncio.ensure_future(self.traffic.run())
        disturbing = asyncio.ensure_future(self._disturb())
        leaving = asyncio.ensure_future(self._leave.wait())
        try:
            self._phase = "sending, and ending workers with kill -9"
            await asyncio.wait(
                [sending, disturbing, leaving],
                timeout=self._plan.duration_seconds,
                return_when=asyncio.FIRST_COMPLETED,
            )
            self.traffic.stop()
            await sending  # a batch under way is finished, so that its ids are known
        finally:
            for job in (sending, disturbing, leaving):
                await _end(job)

    async def _disturb(self) -> None:
        """Kill the worker that holds the most with kill -9, every few seconds."""
        wait = min(_FIRST_KILL_SECONDS, 0.5 * (self._plan.duration_seconds or 60.0))
        while True:
            await asyncio.sleep(wait)
            wait = _KILL_EVERY_SECONDS if self._kill() else 2 * _FRAME_SECONDS

    def _kill(self) -> bool:
        """Kill a worker that is alive and holds a message. False: there is none."""
        now = self._glance
        candidates = [member for member in self.crew.members if member.pid in now.alive and not member.is_being_killed]
        candidates.sort(key=lambda member: now.holds.get(member.name, 0))
        if not candidates or not now.holds.get(candidates[-1].name):
            return False
        victim = candidates[-1]
        owner = now.alive[victim.pid or 0]
        self.crew.kill(victim)
        self.board.killed(owner.id, self._clock.wall(), now.holds[victim.name])
        return True

    async def _drain(self) -> None:
        """Wait until nothing is left in the queues, delayed retries included; not for ever."""
        plan = self._plan
        seconds = plan.drain_interrupted_seconds if self.interrupted else plan.drain_seconds
        until = self._clock.monotonic() + seconds
        # Reads from before the last send do not count: wait for two reads from here.
        self._looked.clear()
        await self._looked.wait()
        self._looked.clear()
        while not self._hurry.is_set() and self._clock.monotonic() < until:
            if self.interrupted:
                until = min(until, self._clock.monotonic() + plan.drain_interrupted_seconds)
            await self._looked.wait()
            self._looked.clear()
            if self._glance.unfinished == 0:
                return

    # -- watching ----------------------------------------------------------------------------------

    async def _watch(self) -> None:
        next_effects = 0.0
        while True:
            if self._clock.monotonic() >= next_effects:
                next_effects = self._clock.monotonic() + _EFFECTS_SECONDS
                self._doubled = self._effects.doubled()
            with contextlib.suppress(BrokerUnavailable):  # busy for a moment: the next read shows it
                await self._look()
            self._show.update(self._scene())
            await asyncio.sleep(_FRAME_SECONDS)

    async def _look(self) -> None:
        while events := await self._app.state.journal.read(self.board.place):
            self.board.take(events)
        self._glance = await glance(self._app, with_progress=self._show.leases)
        self._looked.set()

    def _scene(self) -> Scene:
        return Scene(
            board=self.board,
            crew=self.crew,
            glance=self._glance,
            sent=len(self.traffic.sent),
            recognised=self.traffic.recognised,
            doubled=self._doubled,
            elapsed_seconds=self._clock.monotonic() - self._start,
            duration_seconds=self._plan.duration_seconds,
            phase=self._phase,
            url=self._app.url,
            server=self.server,
        )


async def _end(job: asyncio.Future[Any]) -> None:
    """Cancel, and wait for it. An error in it was raised before, or comes second to the one on its way."""
    job.cancel()
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await job
