"""Results: what a handler returned, waited for if need be (long poll)."""

import asyncio
from typing import Annotated

import msgspec

from tenure.client.operations.message_status import find_message
from tenure.errors import MessageCancelled, MessageNotFound, ResultGone, TaskFailed
from tenure.message import MessageState
from tenure.record import Record
from tenure.server.disconnect import watch_for_leaving
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import ID
from tenure.tasks.handle import raw_result

#: A request waits for this long at most; the client asks again.
MOST_WAIT_SECONDS = 20.0
#: How soon to look again: at first at once, later rarely. In the cloud each look is paid for.
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 0.5
_PAUSE_GROWTH = 1.5


class ResultQuery(msgspec.Struct, frozen=True, kw_only=True):
    """How to wait."""

    #: Wait for the result this many seconds at most.
    wait: Annotated[float, msgspec.Meta(ge=0, le=MOST_WAIT_SECONDS)] = 0.0


class MessageResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message."""

    id: str
    state: MessageState
    #: What its handler returned, exactly as it was stored. Null: it returned nothing, or is not completed yet.
    result: msgspec.Raw | None = None


async def get_result(ask: Ask[ResultQuery, None]) -> Reply:
    """The result; 202 while there is none."""
    record = await find_message(ask.operate.access, ask.path["id"])
    if not record.is_finished and ask.query.wait:
        with ask.server.waiting.slot() as may_wait:
            record = await _wait(ask, record, ask.query.wait) if may_wait else record
    if not record.is_finished:
        return Reply(value=MessageResult(id=record.id, state=record.state), status=202)
    found = MessageResult(id=record.id, state=record.state, result=msgspec.Raw(raw_result(record)))
    return Reply(value=ask.server.result_redaction.redact(msgspec.json.encode(found)))


async def _wait(ask: Ask[ResultQuery, None], record: Record, seconds: float) -> Record:
    """The record when the message is finished, when the time is over, or when the client disconnected."""
    access, clock, stopping = ask.operate.access, ask.app.clock, ask.server.stopping
    until, pause = clock.monotonic() + seconds, _FIRST_PAUSE_SECONDS
    longest = max(_LONGEST_PAUSE_SECONDS, access.broker.traits.snapshot_seconds / 10)
    async with watch_for_leaving(ask.request) as has_left:
        while not record.is_finished and (left := until - clock.monotonic()) > 0:
            if stopping.is_set() or has_left():
                break
            await asyncio.sleep(min(pause, left))
            pause = min(longest, pause * _PAUSE_GROWTH)
            record = await find_message(access, record.id)
    return record


ROUTES = (
    Route(
        method="GET", path="/messages/{id}/result", scope=AccessScope.PAYLOAD, handler=get_result, query=ResultQuery,
        answer=MessageResult, summary="Get the result of a message",
        description=(
            "With `wait` the request stays open until the message has ended, at most 20 s: ask again after 202. A "
            "message that failed or was cancelled is a problem with status 409, a result that was not kept one with "
            "410. A server that has too many waiting requests answers 202 at once. The result is what the handler "
            "returned, to the last digit: keys are hidden in it only if `TENURE_SERVER_REDACT` was set."
        ),
        example={"id": ID, "state": "completed", "result": {"width": 800, "bytes": 51234}},
        errors=(MessageNotFound, TaskFailed, MessageCancelled, ResultGone),
        also={202: "The message has not ended yet."},
    ),
)  # fmt: skip
