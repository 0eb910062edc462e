"""Lists over HTTP: one page as JSON, or with `Accept: application/x-ndjson` every page as a stream (`export.py`).

What reads a list here is given a cursor and answers with a page and the next cursor. Lists that an operation answers
whole are cut into pages by `cut`, by a key that stays: a row that comes or goes between two pages moves no other one.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response

from tenure.server.errors import RequestInvalid
from tenure.server.export import Export, wants_ndjson
from tenure.server.route import Ask, Reply

T = TypeVar("T")

#: From a cursor to a page, and to the cursor of the next one. None: it was the last.
ReadPage = Callable[[str], Awaitable[tuple[msgspec.Struct, str | None]]]


async def reply_list(ask: Ask[Any, None], rows: str, read: ReadPage, *, after: str = "") -> Reply | Response:
    """Answer with one page, or with all rows from there on. `rows`: the field of a page with its rows."""
    if wants_ndjson(ask.request):
        return Export(ask, rows, read, after=after)
    page, _ = await read(after)
    return Reply(value=page)


def cut(rows: Sequence[T], key: Callable[[T], str], *, after: str, limit: int) -> tuple[tuple[T, ...], str | None]:
    """The page of some rows behind a key, in the order of the keys, and the key to go on behind. None: at the end."""
    behind = sorted((row for row in rows if key(row) > after), key=key) if after else sorted(rows, key=key)
    page = tuple(behind[:limit])
    return page, key(page[-1]) if len(behind) > limit else None


def number_in(after: str, name: str) -> int:
    """A cursor that is a place in a log. Empty: 0. Raises `RequestInvalid`."""
    if after and not (after.isascii() and after.isdigit() and len(after) < _MOST_DIGITS):
        msg = f"{name}: {after[:40]!r} is not a position in the log; use the value from the previous page"
        raise RequestInvalid(msg, field=name)
    return int(after or 0)


_MOST_DIGITS = 19
