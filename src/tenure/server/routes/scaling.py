"""Scaling: how many workers each queue needs, and why."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.client.operations.scaling import ScalingReport
from tenure.errors import BadArgument, UnknownQueue
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.page import reply_list
from tenure.server.routes.parameters import Limit


class ScalingQuery(msgspec.Struct, frozen=True, kw_only=True):
    """What is wanted."""

    #: Everything that waits now is to begin within this time.
    target_age_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=604_800)] = 60.0
    #: Of this queue only: a name, or a pattern such as `acme-*`.
    queue: str | None = None
    #: Messages that a worker runs at once. Null: as the workers of each queue do.
    slots: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: Never fewer workers.
    minimum: Annotated[int, msgspec.Meta(ge=0)] = 0
    #: Never more workers. Null: as many as it takes.
    maximum: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: No scale-down for this long after the newest worker started.
    cooldown_seconds: Annotated[float, msgspec.Meta(ge=0)] = 300.0
    #: Rows of one page, at most.
    limit: Limit = 100
    #: `after` of the page before. Empty: the first page.
    after: str = ""


async def get_scaling(ask: Ask[ScalingQuery, None]) -> Reply | Response:
    """By queue."""
    query = ask.query

    async def read(after: str) -> tuple[ScalingReport, str | None]:
        found = await ask.operate.scaling(
            query.target_age_seconds,
            queue=query.queue,
            slots=query.slots,
            minimum=query.minimum,
            maximum=query.maximum,
            cooldown_seconds=query.cooldown_seconds,
            limit=query.limit,
            after=after,
        )
        return found, found.after

    return await reply_list(ask, "queues", read, after=query.after)


ROUTES = (
    Route(
        method="GET", path="/scaling", scope=AccessScope.READ, handler=get_scaling, query=ScalingQuery,
        answer=ScalingReport, summary="See how many workers each queue needs",
        description=(
            "What waits, what is due soon and what runs all count; never fewer are advised than what runs keeps busy. "
            "With an app: the queues of its tasks. Else: every queue."
        ),
        example={
            "target_age_seconds": 60.0,
            "queues": [{
                "queue": "acme-tasks", "ready": 40, "leased": 8, "due": 0, "estimated": False, "mean_seconds": 12.1,
                "q99_seconds": 25.0, "runs": 1240, "profile": None, "workers_now": 1, "slots": 10, "desired": 2,
                "why": "40 to begin and 8 that run × 12 s (q99 25 s, 1,240 runs) within 60 s need 13 slots, 10 each",
                "visible_only": 1, "interrupted": 0,
            }],
            "after": None,
        },
        errors=(BadArgument, UnknownQueue), rows="queues", is_tagged=True,
    ),
)  # fmt: skip
