"""Groups: where one is, how its members ended, and taking it back."""

import msgspec

from tenure.client.group_sending import GroupClient
from tenure.client.operations.access import Access
from tenure.client.operations.operations import Operations
from tenure.errors import BadArgument, GroupNotFound
from tenure.group import GroupProgress, GroupState, MemberResult, MemberState
from tenure.groups.header import Header, Headers
from tenure.groups.reading import GroupReading
from tenure.rules.arguments import is_whole
from tenure.rules.group_id import group_id, group_of

#: So many members that are dead or cancelled are shown with their group.
MOST_FAILED = 100
#: A page of members has so many at most.
MOST_MEMBERS_SHOWN = 1_000
_FAILED = (MemberState.DEAD, MemberState.CANCELLED)


class GroupDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One group. Times are Unix seconds."""

    id: str
    #: `submitting`, `running`, `complete`, `expired`, `cancelled` or `abandoned`.
    state: GroupState
    #: Members.
    total: int
    completed: int
    dead: int
    cancelled: int
    #: When it was submitted.
    created_at: float
    #: When it ends although members have not ended.
    expires_at: float
    #: None: it has not ended.
    ended_at: float | None
    #: The queues of its members.
    queues: tuple[str, ...]
    client: str | None
    #: The message that is sent when it ends. None: none is.
    then_id: str | None
    then_task: str | None
    #: When that was sent. None: not yet, or never.
    then_sent_at: float | None
    #: The first members that are dead or were cancelled, in the order of the calls.
    failed: tuple[MemberResult, ...]
    #: Texts and results are left out.
    redacted: bool = False

    @property
    def ended(self) -> int:
        """Members that have ended."""
        return self.completed + self.dead + self.cancelled


class GroupMembers(msgspec.Struct, frozen=True, kw_only=True):
    """Some members of a group, in the order of the calls."""

    #: The group's id.
    id: str
    members: tuple[MemberResult, ...]
    #: There are more.
    more: bool
    #: Where to go on. None: at the end.
    after: str | None = None
    redacted: bool = False


class MessageGroup(msgspec.Struct, frozen=True, kw_only=True):
    """The group of a message, as its own page names it."""

    id: str
    state: GroupState
    total: int
    #: Members that have ended.
    ended: int
    #: Members that are dead or were cancelled.
    failed: int
    #: It is the message that follows the group, and no member.
    is_last: bool


class GroupOperations(Operations):
    """Operations on groups."""

    async def group(self, id: str) -> GroupDetail:
        """Return where a group is, with the first members that failed. Raises `GroupNotFound`."""
        access = await self._opened()
        header = await _header(access, id)
        headers = Headers(access.state)
        progress = header.progress(await headers.log(header).read())
        found: tuple[MemberResult, ...] = ()
        if progress.dead or progress.cancelled:
            result = await GroupReading(headers).result(header.id)
            found = () if result is None else result.those(*_FAILED)[:MOST_FAILED]
        return _detail(access, header, progress, found)

    async def group_members(
        self, id: str, *, state: MemberState | None = None, after: str = "", limit: int = 100
    ) -> GroupMembers:
        """Return how members ended, in the order of the calls: those behind the place `after`, at most `limit`."""
        if not is_whole(limit, 1, MOST_MEMBERS_SHOWN):
            msg = f"limit={limit!r} is not a whole number from 1 to {MOST_MEMBERS_SHOWN:,}"
            raise BadArgument(msg)
        access = await self._opened()
        header = await _header(access, id)
        result = await GroupReading(Headers(access.state)).result(header.id)
        members = () if result is None else result.members
        first = int(after) + 1 if after.isdecimal() and after.isascii() else 0
        meant = [place for place in range(first, len(members)) if state in (None, members[place].state)]
        shown = meant[:limit]
        return GroupMembers(
            id=header.id,
            members=tuple(_shown(access, members[place]) for place in shown),
            more=len(meant) > limit,
            after=str(shown[-1]) if len(meant) > limit else None,
            redacted=not access.sees_payload,
        )

    async def cancel_group(self, id: str) -> bool:
        """Take a group back: what has not ended is cancelled, and nothing follows. False: it had ended."""
        access = await self._opened()
        header = await _header(access, id)
        return await GroupClient(access.client, by=access.identity.by).cancel(header.id)


async def group_of_message(access: Access, message_id: str) -> MessageGroup | None:
    """The group of a message. None: it is in none. Asks nobody where its id names none."""
    name = group_of(message_id)
    if name is None:
        return None
    try:
        header = await _header(access, name)
    except GroupNotFound:
        return None
    progress = header.progress(await Headers(access.state).log(header).read())
    return MessageGroup(
        id=header.id, state=progress.state, total=progress.total, ended=progress.ended,
        failed=progress.dead + progress.cancelled, is_last=message_id == progress.then_id,
    )  # fmt: skip


async def _header(access: Access, id: str) -> Header:
    header = await Headers(access.state).get(group_id(id, access.namespace))
    if header is None or not all(map(access.sees, header.queues)):
        msg = f"no group {id} is known here: it was never submitted to this place, or it was forgotten"
        raise GroupNotFound(msg)
    return header


def _detail(
    access: Access, header: Header, progress: GroupProgress, failed: tuple[MemberResult, ...]
) -> GroupDetail:  # fmt: skip
    return GroupDetail(
        id=header.id, state=progress.state, total=progress.total, completed=progress.completed, dead=progress.dead,
        cancelled=progress.cancelled, created_at=progress.created_at, expires_at=progress.expires_at,
        ended_at=progress.ended_at, queues=header.queues, client=header.client, then_id=progress.then_id,
        then_task=progress.then_task, then_sent_at=progress.then_sent_at,
        failed=tuple(_shown(access, one) for one in failed), redacted=not access.sees_payload,
    )  # fmt: skip


def _shown(access: Access, member: MemberResult) -> MemberResult:
    """As this identity may see it."""
    if access.sees_payload:
        return member
    reason = None if member.reason is None else msgspec.structs.replace(member.reason, text="", traceback="")
    return MemberResult(id=member.id, state=member.state, large_result=member.large_result, reason=reason)
