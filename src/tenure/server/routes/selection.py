"""Selections: the messages of an act on many, by ids or by filters. Pure."""

from typing import Annotated

import msgspec

from tenure.server.errors import RequestInvalid
from tenure.server.routes.parameters import MOST_AT_ONCE, BulkLimit, Moment

#: Messages a second.
Rate = Annotated[float, msgspec.Meta(gt=0)]

#: An act at a rate ends after this many seconds, and says that there is more: proxies and clients give up on requests.
_MOST_SECONDS = 20.0


class Selection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which messages: those of `ids`, or all that match every filter."""

    #: Only these; no filter goes with them.
    ids: Annotated[tuple[str, ...], msgspec.Meta(max_length=MOST_AT_ONCE)] = ()
    #: Names, or patterns such as `acme-*`.
    queues: tuple[str, ...] = ()
    task: str | None = None
    #: Sent, or died, not before this: Unix seconds or RFC 3339.
    since: Moment | None = None
    #: Every one that there is. Without it a request needs ids or a filter.
    all: bool = False
    #: Only say how many.
    dry_run: bool = False
    #: At most this many in this request.
    limit: BulkLimit = MOST_AT_ONCE

    @property
    def filters(self) -> dict[str, object]:
        """The filters that were given: neither how to act nor where to."""
        others = {"ids", "all", "dry_run", "limit", "per_second", "to"}
        fields = [one for one in msgspec.structs.fields(self) if one.name not in others]
        given = {one.name: getattr(self, one.name) for one in fields}
        return {one.name: given[one.name] for one in fields if given[one.name] != one.default}


def check_selection(given: Selection, per_second: float | None = None) -> None:
    """Raise `RequestInvalid` for one that names nothing, or names it twice."""
    filters = given.filters
    odd = next(iter(filters), "all" if given.all else "per_second" if per_second is not None else None)
    if given.ids and odd is not None:
        msg = f"{odd}: ids already name the messages; leave {odd} out; nothing was changed"
        raise RequestInvalid(msg, field=odd)
    if given.all and filters:
        msg = f"all: it means every message, and {odd} only some of them; nothing was changed"
        raise RequestInvalid(msg, field="all")
    if not given.ids and not filters and not given.all:
        msg = 'name ids or a filter; every message is meant by "all": true only. Nothing was changed'
        raise RequestInvalid(msg, field="ids")


def most_now(given: Selection, per_second: float | None = None) -> int:
    """Return how many messages fit into one request at a rate."""
    if per_second is None or given.dry_run:
        return given.limit
    return max(1, min(given.limit, int(per_second * _MOST_SECONDS)))
