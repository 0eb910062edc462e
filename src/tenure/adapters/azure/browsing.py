"""Browsing: one page of messages, read from the table. Nothing here changes anything.

What is leased or dead is shown to everybody who asks; the other states only to those who ask for a scan, because they
may be as many as were ever sent. `scanning.py` reads rows without bodies and says what a page costs; the bodies of
those that are shown are looked up here. Which rows are meant is decided by `rules/browsing.py`.
"""

from collections.abc import AsyncIterator, Sequence

import msgspec

from tenure.adapters.azure.entry import Letter, read_letter
from tenure.adapters.azure.scanning import Spot, Window, complete, windows
from tenure.adapters.azure.store import Store
from tenure.adapters.azure.traits import TRAITS
from tenure.message import MessageState
from tenure.query import Page, Query
from tenure.rules import browsing, queue_pattern
from tenure.rules.cursor import write as write_mark
from tenure.rules.paging import PagedRow, Pager, Part

#: So many rows are looked up side by side.
_AT_ONCE = 50


async def browse(store: Store, query: Query) -> Page:
    """A page, bounded in messages and in rows read."""
    visible = TRAITS.browsable | TRAITS.scannable if query.scan else TRAITS.browsable
    pager = Pager(query, lambda _state: ("",), clock=store.clock, ended_filters=TRAITS.ended_filters, visible=visible)
    reader = _Reader(store, query)
    while (part := pager.next_part()) is not None:
        window = await reader.window(part)
        if window.spots or window.following is None:
            rows, is_end = await reader.read(window, part.limit)
            pager.take(rows, is_end=is_end)
        else:
            # Letters of messages that are leased by now, or rows that have gone on since the page before.
            pager.take((), is_end=False, passed=max(1, window.read), mark=write_mark(window.following))
    return pager.page()


class _Reader:
    """Reads one state after the other; a window that serves several steps of a page is read once."""

    def __init__(self, store: Store, query: Query) -> None:
        self._store = store
        self._query = query
        self._state: MessageState | None = None
        self._windows: AsyncIterator[Window]
        self._window: Window | None = None
        self._needs_envelope = browsing.needs_envelope(query)
        self._room = query.limit

    async def window(self, part: Part) -> Window:
        """The window that has the next rows of a part; what was handed out is no longer in it."""
        if part.state is not self._state:
            self._state = part.state
            self._windows = windows(self._store, self._query, part.state, part.after)
            self._window = None
        if self._window is None or not self._window.spots:
            self._window = await anext(self._windows)
        return self._window

    async def read(self, window: Window, limit: int) -> tuple[list[PagedRow], bool]:
        """The next rows of a window, and whether there are none behind them."""
        some = self._next(window.spots, limit)
        marks = [window.mark(spot) for spot in some]
        window.spots = window.spots[len(some) :]
        rows = [
            PagedRow(msgspec.structs.replace(spot.message, envelope=raw), mark, raw)
            for (spot, raw), mark in zip(await self._whole(some), marks, strict=True)
        ]
        return rows, not window.spots and window.following is None

    def _next(self, spots: list[Spot], limit: int) -> list[Spot]:
        """As many as the page has room for: bodies that it does not show are not read."""
        if self._needs_envelope:
            return spots[: min(limit, _AT_ONCE)]
        for number, spot in enumerate(spots[:limit], 1):
            self._room -= self._is_meant(spot)
            if self._room <= 0:
                return spots[:number]
        return spots[:limit]

    def _is_meant(self, spot: Spot) -> bool:
        """Whether the query means it, as far as that can be told without its body."""
        query, message = self._query, spot.message
        is_asked_for = query.queues is None or queue_pattern.matches(message.queue, query.queues)
        return is_asked_for and browsing.matches(query, message)

    async def _whole(self, spots: Sequence[Spot]) -> list[tuple[Spot, bytes]]:
        """With their bodies, where somebody wants to see or to search them."""
        whole: list[tuple[Spot, bytes]] = []
        for start in range(0, len(spots), _AT_ONCE):
            some = spots[start : start + _AT_ONCE]
            old = await self._letters([spot for spot in some if spot.is_partial])
            some = [complete(spot, old.get(spot.word)) if spot.is_partial else spot for spot in some]
            wanted = [
                spot
                for spot in some
                if spot.message.state not in browsing.FINISHED
                and (self._needs_envelope or (self._query.bodies and self._is_meant(spot)))
            ]
            bodies = await self._bodies(wanted)
            whole += [(spot, bodies.get(spot.word, b"")) for spot in some]
        return whole

    async def _bodies(self, spots: Sequence[Spot]) -> dict[str, bytes]:
        own = [spot for spot in spots if spot.is_own]
        rows = await self._store.rows.get_all((spot.part, f"m:{spot.word}") for spot in own)
        found = {
            spot.word: row.fields["Envelope"]
            for spot, row in zip(own, rows, strict=True)
            if row is not None and row.fields.get("Envelope") is not None
        }
        letters = await self._letters([spot for spot in spots if spot.word not in found])
        return found | {word: letter.envelope for word, letter in letters.items()}

    async def _letters(self, spots: Sequence[Spot]) -> dict[str, Letter]:
        rows = await self._store.rows.get_all((spot.part, f"s:{spot.word}") for spot in spots)
        return {spot.word: read_letter(row) for spot, row in zip(spots, rows, strict=True) if row is not None}
