"""Parameters that several routes have, and what they mean. Used by the lists of `routes/`."""

import math
from datetime import datetime
from typing import Annotated

import msgspec

from tenure.server.errors import RequestInvalid

#: Unix seconds, or RFC 3339. Parameters of an address are always texts.
Moment = str | float

#: A page of a list has so many rows at most.
MOST_ROWS = 1_000

#: One request acts on this many messages at most.
MOST_AT_ONCE = 1_000

Limit = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)]
BulkLimit = Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of a list."""

    #: Rows of one page, at most.
    limit: Limit = 100
    #: `after` of the page before. Empty: the first page.
    after: str = ""


def moment(given: Moment | None, name: str) -> float | None:
    """A moment as Unix seconds. Raises `RequestInvalid`. None: none was given."""
    if given is None:
        return None
    text = str(given)
    try:
        number = float(text)
    except ValueError:
        number = _timestamp(text)
    if not math.isfinite(number):
        msg = f"{name}: {text[:40]!r} is not a moment; write Unix seconds, or RFC 3339 as in 2030-01-31T09:00:00Z"
        raise RequestInvalid(msg, field=name)
    return number


def _timestamp(text: str) -> float:
    """A moment with its offset, as Unix seconds. NaN: it is not a moment."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return math.nan
    return math.nan if found.utcoffset() is None else found.timestamp()
