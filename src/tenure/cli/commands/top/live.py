"""The live table: reads the place, draws, and listens to keys until q or Ctrl-C. The terminal is left as it was.

Three things go on side by side in one loop: a reader that looks at the place (and, when the store is away, says so and
goes on when it is back), the keys, and a tick each second that moves the countdowns. A message that is opened is
fetched as `tenure show` does.
"""

import asyncio
import contextlib
import os
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import msgspec
from rich.console import Group
from rich.live import Live
from rich.text import Text

from tenure.app import Tenure
from tenure.cli.commands.show.telling import tell
from tenure.cli.commands.top.keys import keys_in
from tenure.cli.commands.top.screen import ScreenFrame, draw
from tenure.cli.commands.top.view import TopView, press
from tenure.cli.terminal.screen import Screen
from tenure.client.operations.message_detail import fetch
from tenure.client.operations.overview.headline import headline
from tenure.client.operations.overview.reading import OverviewReader
from tenure.client.operations.overview.rows import Overview
from tenure.errors import BrokerError, TenureError

if TYPE_CHECKING:
    from rich.console import Console

_TICK_SECONDS = 1.0
#: A message that is open is read again so often.
_MESSAGE_SECONDS = 2.0


async def watch(app: Tenure, reader: OverviewReader, target: str, out: "Console", *, every_seconds: float) -> None:
    """Show the place until the person has seen enough."""
    live = _LiveView(app, reader, target, out, every_seconds)
    live.take(await reader.read())  # a place that is not there is an error before the screen changes
    with _keyboard(live.press), Live(console=out, screen=True, auto_refresh=False, transient=True) as shown:
        await live.run(shown)


class _LiveView:
    """The view shown now, and the events that change it."""

    def __init__(self, app: Tenure, reader: OverviewReader, target: str, out: "Console", every_seconds: float) -> None:
        self._app = app
        self._reader = reader
        self._target = target
        self._out = out
        self._every = every_seconds
        self._view = TopView()
        self._overview: Overview | None = None
        self._read_at = 0.0
        self._outage = ""
        self._away_since = 0.0
        self._message: tuple[Text, ...] = ()
        self._message_of = ""
        #: Set: something changed, draw.
        self._changed = asyncio.Event()
        #: Set: another message was opened, fetch.
        self._opened = asyncio.Event()

    def take(self, overview: Overview) -> None:
        """Take a new overview from the store."""
        self._outage = ""
        if not self._view.is_paused or self._overview is None:
            self._overview, self._read_at = overview, self._app.clock.monotonic()
        self._changed.set()

    def press(self, key: str) -> None:
        """Handle a key."""
        if self._overview is None:
            return
        before, self._view = self._view, press(self._view, key, self._overview, self._now())
        if self._view.opened != before.opened:
            self._message, self._message_of = (), ""
            self._opened.set()
        self._changed.set()

    async def run(self, shown: Live) -> None:
        """Draw until the view is over."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._changed.set)
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(self._look()), group.create_task(self._fetch())]
            while not self._view.is_over:
                self._changed.clear()
                self._draw(shown)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_TICK_SECONDS):
                        await self._changed.wait()
            for task in others:
                task.cancel()
        loop.remove_signal_handler(signal.SIGWINCH)

    def _draw(self, shown: Live) -> None:
        if self._overview is None:
            return
        width, height = self._out.size
        now = self._now()
        overview = self._overview
        frame = ScreenFrame(
            overview=overview,
            headline=headline(msgspec.structs.replace(overview, now=now)),
            view=self._view,
            target=self._target,
            every_seconds=self._every,
            now=now,
            outage=self._outage,
            away_seconds=self._app.clock.monotonic() - self._away_since,
            message=self._message,
        )
        shown.update(Group(*draw(frame, width, height)), refresh=True)

    def _now(self) -> float:
        """Return the store's time. Without new readings, countdowns stand still: leases may be renewed meanwhile."""
        if self._overview is None:
            return 0.0
        still = self._view.is_paused or self._outage
        return self._overview.now + (0.0 if still else self._app.clock.monotonic() - self._read_at)

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(self._every)
            try:
                self.take(await self._reader.read())
            except BrokerError as error:
                if not self._outage:
                    self._away_since = self._app.clock.monotonic()
                self._outage = str(error) or error.code
                self._changed.set()

    async def _fetch(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_MESSAGE_SECONDS):
                    await self._opened.wait()
            self._opened.clear()
            wanted = self._view.opened
            if not wanted or (self._view.is_paused and self._message_of == wanted):
                continue
            try:
                lines = await self._told(wanted)
            except TenureError as error:
                lines = (Text(str(error)),)
            if self._view.opened == wanted:
                self._message, self._message_of = lines, wanted
                self._changed.set()

    async def _told(self, id: str) -> tuple[Text, ...]:
        """Return the lines of `tenure show`, cut to fit."""
        found = await fetch(self._app.operate.access, id)
        out = Screen(
            width=max(20, self._out.width - 2),
            force_terminal=True,
            color_system="standard",
            no_color=self._out.no_color,
            legacy_windows=False,
        )
        with out.capture() as captured:
            tell(out, found, self._app.clock.wall(), full=False)
        return tuple(Text.from_ansi(line) for line in captured.get().splitlines())


@contextlib.contextmanager
def _keyboard(press: Callable[[str], None]) -> Iterator[None]:
    """Read each key at once and unseen, where standard input is a terminal; Ctrl-C still interrupts."""
    if not sys.stdin.isatty():
        yield
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    loop = asyncio.get_running_loop()

    def heard() -> None:
        for key in keys_in(os.read(descriptor, 1_024)):
            press(key)

    tty.setcbreak(descriptor)
    loop.add_reader(descriptor, heard)
    try:
        yield
    finally:
        loop.remove_reader(descriptor)
        # What was typed and not read is not left to the shell.
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)
