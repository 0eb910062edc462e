"""Groups: where one is, how its members ended; take one back."""

import msgspec
from starlette.responses import Response

from tenure.client.operations.groups import GroupDetail, GroupMembers
from tenure.errors import GroupNotFound
from tenure.group import MemberState
from tenure.server.principal import AccessScope
from tenure.server.route import Ask, Reply, Route
from tenure.server.routes.examples import NOW
from tenure.server.routes.page import reply_list
from tenure.server.routes.parameters import PageQuery

_ID = "grp_019b75d1f8a04c1f9e2b7d3a5c6e8f01"


class MembersQuery(PageQuery, frozen=True, kw_only=True):
    """Which members of a group."""

    #: Only those that are `completed`, `dead`, `cancelled` or `unfinished`.
    state: MemberState | None = None


class CancelledGroup(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one cancel."""

    id: str
    #: False: it had ended before, and nothing was changed.
    cancelled: bool


async def get_group(ask: Ask[None, None]) -> Reply:
    """Return one group."""
    return Reply(value=await ask.operate.group(ask.path["id"]))


async def list_members(ask: Ask[MembersQuery, None]) -> Reply | Response:
    """List how the members ended."""

    async def read(after: str) -> tuple[GroupMembers, str | None]:
        query = ask.query
        found = await ask.operate.group_members(ask.path["id"], state=query.state, after=after, limit=query.limit)
        return found, found.after

    return await reply_list(ask, "members", read, after=ask.query.after)


async def cancel_group(ask: Ask[None, None]) -> Reply:
    """Take a group back."""
    id = ask.path["id"]
    return Reply(value=CancelledGroup(id=id, cancelled=await ask.operate.cancel_group(id)))


_REASON = {
    "code": "max_attempts", "text": "ValueError: no such image", "traceback": "", "error": "ValueError", "count": 0,
}  # fmt: skip
_FAILED = {"id": f"{_ID}-17", "state": "dead", "reason": _REASON}

ROUTES = (
    Route(
        method="GET", path="/groups/{id}", scope=AccessScope.READ, handler=get_group, answer=GroupDetail,
        summary="Show how far a group is",
        description=(
            "`failed` has the first 100 members that are dead or were cancelled. Without the scope `payload` the texts "
            "of errors are left out."
        ),
        example={
            "id": _ID, "state": "running", "total": 10000, "completed": 9120, "dead": 1, "cancelled": 0,
            "created_at": NOW - 600, "expires_at": NOW + 604200, "ended_at": None, "queues": ["acme-tasks"],
            "client": "acme", "then_id": f"{_ID}-then", "then_task": "publish", "then_sent_at": None,
            "failed": [_FAILED], "redacted": False,
        },
        errors=(GroupNotFound,),
    ),
    Route(
        method="GET", path="/groups/{id}/members", scope=AccessScope.READ, handler=list_members, query=MembersQuery,
        answer=GroupMembers, summary="List how the members of a group ended",
        description=(
            "In the order of the calls. A member that has not ended is `unfinished`. A result that is too large to be "
            "copied has `large_result`, its bytes: `GET /messages/{id}/result` has it. Without the scope `payload` "
            "results and texts are left out."
        ),
        example={
            "id": _ID, "members": [{"id": f"{_ID}-0", "state": "completed", "result": {"width": 800}}], "more": True,
            "after": "0", "redacted": False,
        },
        errors=(GroupNotFound,), rows="members",
    ),
    Route(
        method="POST", path="/groups/{id}/cancel", scope=AccessScope.OPERATE, handler=cancel_group,
        answer=CancelledGroup, summary="Take a group back",
        description="Members that have not ended are cancelled, and the message at the end is not sent.",
        example={"id": _ID, "cancelled": True},
        errors=(GroupNotFound,),
    ),
)  # fmt: skip
