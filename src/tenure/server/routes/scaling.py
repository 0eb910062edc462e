"""Scaling: how many workers each queue needs, and why; one queue alone for autoscalers, as KEDA's `metrics-api`."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.client.operations.scaling import ScalingNeed, ScalingReport
from tenure.errors import BadArgument, UnknownQueue
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.page import reply_list
from tenure.server.routes.parameters import Limit


class QueueScalingQuery(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one queue."""

    #: Everything that waits now is to begin within this time.
    target_age_seconds: Annotated[float, msgspec.Meta(ge=0.1, le=604_800)] = 60.0
    #: Messages that a worker runs at once. Null: as the workers of each queue do.
    slots: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: Never fewer workers.
    minimum: Annotated[int, msgspec.Meta(ge=0)] = 0
    #: Never more workers. Null: as many as it takes.
    maximum: Annotated[int, msgspec.Meta(ge=1)] | None = None
    #: No scale-down for this long after the newest worker started.
    cooldown_seconds: Annotated[float, msgspec.Meta(ge=0)] = 300.0


class ScalingQuery(QueueScalingQuery, frozen=True, kw_only=True):
    """The rules, and of which queues."""

    #: Of this queue only: a name, or a pattern such as `acme-*`.
    queue: str | None = None
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


async def get_queue_scaling(ask: Ask[QueueScalingQuery, None]) -> Reply:
    """Of one queue, also while nothing has ever been sent to it."""
    query = ask.query
    found = await ask.operate.scaling(
        query.target_age_seconds,
        queue=ask.path["queue"],
        slots=query.slots,
        minimum=query.minimum,
        maximum=query.maximum,
        cooldown_seconds=query.cooldown_seconds,
        must_exist=False,
    )
    if len(found.queues) != 1:
        msg = f"{ask.path['queue']!r} is a pattern; name one queue, or ask /scaling?queue=. Nothing was read"
        raise BadArgument(msg)
    return Reply(value=found.queues[0])


_NEED = {
    "queue": "acme-tasks", "ready": 40, "leased": 8, "delayed": 3, "due": 0, "estimated": False,
    "oldest_age_seconds": 21.4, "mean_seconds": 12.1, "q99_seconds": 25.0, "runs": 1240, "profile": None,
    "workers_now": 1, "slots": 10, "messages_per_worker": 38.926, "desired": 2,
    "why": "40 to begin and 8 that run × 12 s (q99 25 s, 1,240 runs) within 60 s need 13 slots, 10 a worker",
    "visible_only": 1, "interrupted": 0,
}  # fmt: skip

ROUTES = (
    Route(
        method="GET", path="/scaling", scope=AccessScope.READ, handler=get_scaling, query=ScalingQuery,
        answer=ScalingReport, summary="See how many workers each queue needs",
        description=(
            "What waits, what is due soon and what runs all count; never fewer are advised than what runs keeps busy. "
            "With an app: the queues of its tasks. Else: every queue."
        ),
        example={"target_age_seconds": 60.0, "queues": [_NEED], "after": None},
        errors=(BadArgument, UnknownQueue), rows="queues", is_tagged=True,
    ),
    Route(
        method="GET", path="/scaling/{queue}", scope=AccessScope.READ, handler=get_queue_scaling,
        query=QueueScalingQuery, answer=ScalingNeed, summary="See how many workers one queue needs",
        description=(
            "For autoscalers: `desired` at the top of a small document. A queue that nothing knows yet, or any more, "
            "needs 0 workers; it is no error, because an autoscaler goes on asking when a queue has been empty for "
            "long. `desired` is null where the broker cannot count: an autoscaler must then keep what there is."
        ),
        example=_NEED, errors=(BadArgument, UnknownQueue), is_tagged=True,
    ),
)  # fmt: skip
