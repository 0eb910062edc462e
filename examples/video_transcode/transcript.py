"""What happens, line by line: read from the journal, where every worker writes, and from the autoscaler.

Times are minutes and seconds since the beginning, in scaled time.
"""

import asyncio
import time
from collections.abc import Callable
from itertools import count
from typing import Any

from tenure import Tenure
from tenure.client.operations import EventQuery

from .autoscaler import Look
from .settings import SPEED

#: Lines wait so long for others that belong before them: workers write to the journal a moment later.
_LAG_SECONDS = 1.5
_LOOK_SECONDS = 0.25
_PAGE = 1_000
#: What is told of which kinds of events.
_LINES = {
    "received": "{worker} begins {video}, delivery {deliveries}",
    "heartbeat_extended": "{worker} renews its lease on {video}, beat {extension_count}",
    "completed": "{worker} has published {video}",
    "snoozed": "{worker} gives {video} back: {reason}",
    "owner_retired": "{worker} is dead: {proof}",
    "owner_left": "{worker} has left",
}


class Transcript:
    """Prints lines in the order in which it happened."""

    def __init__(self, say: Callable[[str], None]) -> None:
        """`say` prints one line."""
        self._say = say
        self._began = time.time()
        self._numbers = count()
        self._lines: list[tuple[float, int, str]] = []
        self._last: Look | None = None
        #: What the autoscaler saw, whenever that changed.
        self.looks: list[Look] = []
        #: The video of each message.
        self.videos: dict[str, str] = {}
        #: The one whose beats are told.
        self.beats_of = ""

    async def begin_chapter(self, text: str) -> None:
        """Print a title, below all that happened before."""
        await asyncio.sleep(_LAG_SECONDS)
        self._print(time.time())
        self._say(f"\n{text}\n")

    def add(self, text: str, at: float | None = None) -> None:
        """Add a line; `at`: when that was, else now."""
        self._lines.append((time.time() if at is None else at, next(self._numbers), text))

    def look(self, look: Look) -> None:
        """Add what the autoscaler sees, if it sees something new."""
        if self._last is not None and look[:-1] == self._last[:-1]:
            return
        self._last = look
        self.looks.append(look)
        self.add(
            f"{_number(look.waiting)} wait, {_number(look.running)} run: {_number(look.wanted)} wanted, "
            f"{look.workers} here; looking at those that wait alone: {_number(look.waiting_only)}"
        )

    async def run(self, app: Tenure) -> None:
        """Follow the journal until cancelled, then print the rest."""
        after = 0
        try:
            while True:
                page = await app.operate.events(EventQuery(after=after, limit=_PAGE))
                after = page.after
                for event in page.events:
                    if text := self._told(event.kind, event.message_id, event.owner, event.data):
                        self.add(text, event.at)
                self._print(time.time() - _LAG_SECONDS)
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            self._print(time.time())

    def _told(self, kind: str, message_id: str | None, owner: str | None, data: dict[str, Any]) -> str:
        """A line for an event. Empty: it is not told."""
        video = self.videos.get(message_id or "", "")
        if kind not in _LINES or (kind == "heartbeat_extended" and video != self.beats_of):
            return ""
        return _LINES[kind].format(worker=(owner or "").partition("/")[0], video=video, **data)

    def _print(self, until: float) -> None:
        self._lines.sort()
        while self._lines and self._lines[0][0] <= until:
            at, _, text = self._lines.pop(0)
            minutes, seconds = divmod(max(0, round((at - self._began) * SPEED)), 60)
            self._say(f"{minutes:4d}:{seconds:02d}  {text}")


def _number(value: int | None) -> str:
    return "?" if value is None else str(value)
