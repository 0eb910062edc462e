"""Leases: what is held now, over all queues; and more time for one of them."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.broker import MOST_LEASES, Leases
from tenure.client.operations.leases import TouchedLease
from tenure.errors import AmbiguousId, BadArgument, MessageNotFound, NotRunning
from tenure.query import HeldLease
from tenure.server.errors import RequestInvalid
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, LEASE, NOW
from tenure.server.routes.page import reply_list

#: No lease of any store is longer.
_LONGEST_SECONDS = 7 * 86_400

Place = tuple[float, str]


class LeaseQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which leases."""

    #: Names, or patterns such as `acme-*`; repeat it for more. Default: every queue.
    queue: tuple[str, ...] = ()
    #: Rows of one page, at most.
    limit: Annotated[int, msgspec.Meta(ge=1, le=MOST_LEASES)] = 1_000
    #: `after` of the page before. Empty: the first page.
    after: str = ""


class LeasePage(Leases, frozen=True, kw_only=True):
    """One page of what is held, soonest end first."""

    #: Where to go on. Null: at the end. A lease that is renewed meanwhile moves to a later page.
    after: str | None = None


class TouchRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How much more time to give."""

    #: The lease lasts at least this many seconds from now. Null: its own length.
    seconds: Annotated[float, msgspec.Meta(gt=0, le=_LONGEST_SECONDS)] | None = None


async def list_leases(ask: Ask[LeaseQuery, None]) -> Reply | Response:
    """List the leases."""
    query = ask.query

    async def read(after: str) -> tuple[LeasePage, str | None]:
        place = _place_in(after)
        found = await ask.operate.leases(query.queue, limit=query.limit if place is None else MOST_LEASES)
        behind = [one for one in found.leases if place is None or _place_of(one) > place]
        page = tuple(behind[: query.limit])
        goes_on = len(behind) > query.limit or (place is None and found.is_cut)
        following = _cursor(page[-1]) if page and goes_on else None
        shown = msgspec.structs.asdict(msgspec.structs.replace(found, leases=page))
        return LeasePage(**shown, after=following), following

    return await reply_list(ask, "leases", read, after=query.after)


async def touch_lease(ask: Ask[None, TouchRequest]) -> Reply:
    """Give it more time."""
    return Reply(value=await ask.operate.touch(ask.path["id"], ask.body.seconds))


def _place_of(lease: HeldLease) -> Place:
    return lease.deadline, lease.id


def _cursor(lease: HeldLease) -> str:
    return f"{lease.deadline!r}~{lease.id}"


def _place_in(after: str) -> Place | None:
    """The place behind which to go on. None: from the start."""
    if not after:
        return None
    deadline, _, id = after.partition("~")
    try:
        return float(deadline), id
    except ValueError:
        msg = "after: not a position in this list; use the value from the previous page"
        raise RequestInvalid(msg, field="after") from None


ROUTES = (
    Route(
        method="GET", path="/leases", scope=AccessScope.READ, handler=list_leases, query=LeaseQuery, answer=LeasePage,
        summary="List what is held now",
        description=(
            f"Soonest end first, with the store's time and its sweeps. At most {MOST_LEASES:,} leases are looked at: "
            "`is_cut` says that there are more."
        ),
        example={
            "leases": [LEASE], "is_cut": False, "now": NOW, "last_sweep_at": NOW - 3, "next_sweep_at": NOW + 2,
            "after": None,
        },
        rows="leases",
    ),
    Route(
        method="POST", path="/leases/{id}/touch", scope=AccessScope.OPERATE, handler=touch_lease, body=TouchRequest,
        answer=TouchedLease, summary="Give a running message more time",
        description=(
            "`id` is that of the message. Its lease lasts at least `seconds` from now, is never shortened, and stays "
            "with its worker. It counts as a beat, and is written to the audit log. A worker whose heartbeat is off "
            "does not notice. A message that no worker holds any more is a problem with status 409."
        ),
        body_example={"seconds": 120},
        example={
            "id": ID, "queue": "acme-tasks", "owner": "web-1:4242:9f31", "state": "held", "deadline": NOW + 120,
            "deadline_in": 120.0,
        },
        errors=(MessageNotFound, AmbiguousId, NotRunning, BadArgument),
    ),
)  # fmt: skip
