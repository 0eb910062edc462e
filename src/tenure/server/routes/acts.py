"""Acts: who did what, when, and from where."""

import msgspec
from starlette.responses import Response

from tenure.client.operations.acts import ActList
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW
from tenure.server.routes.page import number_in, reply_list
from tenure.server.routes.parameters import Limit


class ActQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which acts."""

    #: `before` of the page before. Empty: the newest.
    before: str = ""
    #: Rows of one page, at most.
    limit: Limit = 100
    #: Of these people only: a part of the name.
    by: str | None = None
    #: Of these kinds only, such as `cancelled`; repeat it for more.
    kind: tuple[str, ...] = ()
    #: On these queues only: names, or patterns such as `acme-*`; repeat it for more.
    queue: tuple[str, ...] = ()


async def list_acts(ask: Ask[ActQuery, None]) -> Reply | Response:
    """List the acts."""
    query = ask.query

    async def read(before: str) -> tuple[ActList, str | None]:
        place = number_in(before, "before")
        found = await ask.operate.acts(place, query.limit, by=query.by, kinds=query.kind, queues=query.queue)
        return found, None if found.before is None else str(found.before)

    return await reply_list(ask, "acts", read, after=query.before)


ROUTES = (
    Route(
        method="GET", path="/acts", scope=AccessScope.READ, handler=list_acts, query=ActQuery, answer=ActList,
        summary="List who did what", description="The audit log, newest first. It is kept for 400 days.",
        example={
            "acts": [{
                "seq": 41, "kind": "cancelled", "at": NOW, "by": "alice", "triggered_by": "http",
                "source": "203.0.113.7", "queue": "acme-tasks", "count": 1, "ids": [ID], "data": {},
            }],
            "before": None,
        },
        rows="acts",
    ),
)  # fmt: skip
