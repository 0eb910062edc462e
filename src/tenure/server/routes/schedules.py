"""Schedules: what is sent by itself; run one now, pause, resume."""

from starlette.responses import Response

from tenure.client.operations.schedules import ScheduleChange, ScheduleList, ScheduleRun
from tenure.errors import UnknownSchedule
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID, NOW
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery


class SchedulePage(ScheduleList, frozen=True, kw_only=True):
    """One page of the schedules, by name."""

    #: Where to go on. Null: at the end.
    after: str | None = None


async def list_schedules(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List the schedules."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[SchedulePage, str | None]:
        found = await ask.operate.schedules()
        page, following = cut(found.schedules, lambda row: row.name, after=after, limit=limit)
        return SchedulePage(schedules=page, after=following), following

    return await reply_list(ask, "schedules", read, after=ask.query.after)


async def run_schedule(ask: Ask[None, None]) -> Reply:
    """Send the message of a schedule once more, now."""
    return Reply(value=await ask.operate.run_schedule(ask.path["name"]))


async def pause_schedule(ask: Ask[None, None]) -> Reply:
    """Pause a schedule: its ticks are skipped."""
    return Reply(value=await ask.operate.pause_schedule(ask.path["name"]))


async def resume_schedule(ask: Ask[None, None]) -> Reply:
    """Resume a paused schedule."""
    return Reply(value=await ask.operate.resume_schedule(ask.path["name"]))


_CHANGE = {"name": "acme/nightly", "changed": True}

ROUTES = (
    Route(
        method="GET", path="/schedules", scope=AccessScope.READ, handler=list_schedules, query=PageQuery,
        answer=SchedulePage, summary="List the schedules", description="With their last and next ticks.",
        example={
            "schedules": [{
                "name": "acme/nightly", "spec": "0 3 * * * Europe/Berlin", "task": "report", "queue": "acme-tasks",
                "in_app": True, "last_at": NOW - 3600, "message_id": ID, "message_state": "completed",
                "next_at": NOW + 82800, "paused": None,
            }],
            "after": None,
        },
        rows="schedules", is_tagged=True,
    ),
    Route(
        method="POST", path="/schedules/{name}/run", scope=AccessScope.OPERATE, handler=run_schedule,
        answer=ScheduleRun, summary="Run a schedule now",
        description=(
            "Sends one message outside its ticks. The server must know the app's code; while an earlier message of "
            "the schedule waits, nothing new is stored (`duplicate`)."
        ),
        example={"name": "acme/nightly", "message_id": ID, "duplicate": False}, errors=(UnknownSchedule,),
    ),
    Route(
        method="POST", path="/schedules/{name}/pause", scope=AccessScope.OPERATE, handler=pause_schedule,
        answer=ScheduleChange, summary="Pause a schedule",
        description="No message is sent for its ticks until it is resumed. They are not made up for.",
        example=_CHANGE, errors=(UnknownSchedule,),
    ),
    Route(
        method="POST", path="/schedules/{name}/resume", scope=AccessScope.OPERATE, handler=resume_schedule,
        answer=ScheduleChange, summary="Resume a schedule", description="It goes on with its next tick.",
        example=_CHANGE, errors=(UnknownSchedule,),
    ),
)  # fmt: skip
