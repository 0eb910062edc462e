"""Findings over HTTP: what is wrong now; acknowledge one, silence one."""

from typing import Annotated

import msgspec
from starlette.responses import Response

from tenure.client.operations.findings import LONGEST_SILENCE_SECONDS, FindingList, FindingStatus
from tenure.errors import UnknownFinding
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import NOW
from tenure.server.routes.page import cut, reply_list
from tenure.server.routes.parameters import PageQuery


class FindingPage(FindingList, frozen=True, kw_only=True):
    """One page of the findings, the worst first."""

    #: Where to go on. Null: at the end.
    after: str | None = None


class Silence(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """For how long no notices are sent."""

    #: 0: end the silence.
    seconds: Annotated[float, msgspec.Meta(ge=0, le=LONGEST_SILENCE_SECONDS)]


async def list_findings(ask: Ask[PageQuery, None]) -> Reply | Response:
    """List what is wrong."""
    limit = ask.query.limit

    async def read(after: str) -> tuple[FindingPage, str | None]:
        found = await ask.operate.findings()
        places = {one.id: f"{place:06d}" for place, one in enumerate(found.findings)}
        page, following = cut(found.findings, lambda row: places[row.id], after=after, limit=limit)
        whole = FindingPage(
            findings=page,
            open=found.open,
            judged_at=found.judged_at,
            is_judged=found.is_judged,
            settling_until=found.settling_until,
            after=following,
        )
        return whole, following

    return await reply_list(ask, "findings", read, after=ask.query.after)


async def get_finding(ask: Ask[None, None]) -> Reply:
    """Return one finding."""
    return Reply(value=await ask.operate.finding(ask.path["id"]))


async def ack_finding(ask: Ask[None, None]) -> Reply:
    """Say that a finding was seen."""
    return Reply(value=await ask.operate.ack_finding(ask.path["id"]))


async def silence_finding(ask: Ask[None, Silence]) -> Reply:
    """Silence a finding for a while."""
    return Reply(value=await ask.operate.silence_finding(ask.path["id"], ask.body.seconds))


_FINDING = {
    "id": "oldest_age@acme-tasks", "alert": "oldest_age", "title": "Messages wait too long",
    "about": "The oldest ready message waits longer than it should.", "severity": "ticket", "firing": True,
    "subject": "acme-tasks", "queue": "acme-tasks", "task": None, "message_id": None, "since": NOW - 420,
    "cleared_at": None, "value": 1.4, "unit": "1",
    "evidence": "the oldest of 312 messages waits 420 s; expected: 300 s",
    "remedy": "Start more workers, or find out what slows those that there are", "runbook": "oldest_age",
    "acked_by": None, "acked_at": None, "silenced_until": None, "silenced_by": None,
}  # fmt: skip

ROUTES = (
    Route(
        method="GET", path="/findings", scope=AccessScope.READ, handler=list_findings, query=PageQuery,
        answer=FindingPage, summary="List what is wrong",
        description="What fires now, the worst first, then what cleared within a day. Judged by workers and servers.",
        example={
            "findings": [_FINDING], "open": 1, "judged_at": NOW - 6, "is_judged": True, "settling_until": None,
            "after": None,
        },
        rows="findings", is_tagged=True,
    ),
    Route(
        method="GET", path="/findings/{id}", scope=AccessScope.READ, handler=get_finding, answer=FindingStatus,
        summary="Show one finding", description="`id` is percent-encoded: it may have a slash.", example=_FINDING,
        errors=(UnknownFinding,),
    ),
    Route(
        method="POST", path="/findings/{id}/ack", scope=AccessScope.OPERATE, handler=ack_finding,
        answer=FindingStatus, summary="Acknowledge a finding",
        description="No more notices are sent, until it fires anew or at a stronger level.",
        example={**_FINDING, "acked_by": "alice", "acked_at": NOW}, errors=(UnknownFinding,),
    ),
    Route(
        method="POST", path="/findings/{id}/silence", scope=AccessScope.OPERATE, handler=silence_finding,
        body=Silence, answer=FindingStatus, summary="Silence a finding",
        description="It is judged and shown as before, but sends no notices until then. `seconds` 0 ends the silence.",
        body_example={"seconds": 3600}, example={**_FINDING, "silenced_until": NOW + 3600, "silenced_by": "alice"},
        errors=(UnknownFinding,),
    ),
)  # fmt: skip
