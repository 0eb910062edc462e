"""Parameters that several routes have, and what they mean. Used by the lists of `routes/`."""

import math
from datetime import datetime
from typing import Annotated

import msgspec

from tenure.server.errors import RequestInvalid

#: A page of a list has so many rows at most.
MOST_ROWS = 1_000

#: One request acts on so many messages at most.
MOST_AT_ONCE = 1_000

Limit = Annotated[int, msgspec.Meta(ge=1, le=MOST_ROWS)]
BulkLimit = Annotated[int, msgspec.Meta(ge=1, le=MOST_AT_ONCE)]


class PageQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which page of a list."""

    #: Rows of one page, at most.
    limit: Limit = 100
    #: `after` of the page before. Empty: the first page.
    after: str = ""


def moment(given: str | None, name: str) -> float | None:
    """A moment as Unix seconds. Raises `RequestInvalid`. None: none was given."""
    if given is None:
        return None
    try:
        return _finite(float(given))
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(given)
    except ValueError:
        found = None
    if found is None or found.utcoffset() is None:
        msg = f"{name}: {given[:40]!r} is no moment; write Unix seconds, or RFC 3339 as in 2030-01-31T09:00:00Z"
        raise RequestInvalid(msg, field=name)
    return found.timestamp()


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError
    return number
