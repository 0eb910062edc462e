"""A group with all its results: for the handler at its end, for `GroupHandle.result`, and for people who look."""

import msgspec

from tenure.group import GROUP_HEADER, GroupProgress, GroupResult, MemberResult, MemberState
from tenure.groups.ended_log import Entry
from tenure.groups.header import Header, Headers
from tenure.message import Message
from tenure.rules.group_id import member_id


class GroupGone(Exception):
    """The group was forgotten: its results cannot be read any more."""


class GroupReading:
    """Reads the groups of one store."""

    def __init__(self, headers: Headers) -> None:
        """Read nothing before it is asked for."""
        self._headers = headers

    async def progress(self, id: str) -> GroupProgress | None:
        """Where a group is. None: it is not known."""
        header = await self._headers.get(id)
        return None if header is None else header.progress(await self._headers.log(header).read())

    async def result(self, id: str) -> GroupResult | None:
        """A group with every member, as far as it is. None: it is not known."""
        header = await self._headers.get(id)
        if header is None:
            return None
        log = self._headers.log(header)
        ended = await log.read()
        found = {one.place: one for one in await log.entries()}
        members = tuple(_member(header, place, found.get(place)) for place in range(header.total))
        return GroupResult(id=header.id, state=header.state(ended), members=members)

    async def fill(self, message: Message) -> Message:
        """The message at the end of a group, with the results in its payload. Raises `GroupGone`."""
        parameter = message.headers[GROUP_HEADER]
        payload = msgspec.json.decode(message.body, type=dict[str, msgspec.Raw])
        reference = msgspec.json.decode(payload[parameter], type=GroupReference)
        result = await self.result(reference.id)
        if result is None:
            raise GroupGone(reference.id)
        payload[parameter] = msgspec.Raw(msgspec.json.encode(result))
        return msgspec.structs.replace(message, body=msgspec.Raw(msgspec.json.encode(payload)))


class GroupReference(msgspec.Struct, frozen=True):
    """What the stored payload has in place of the results, which are read when the handler begins."""

    id: str


def _member(header: Header, place: int, entry: Entry | None) -> MemberResult:
    id = member_id(header.id, place)
    if entry is None:
        return MemberResult(id=id, state=MemberState.UNFINISHED)
    return MemberResult(
        id=id, state=entry.state, result=entry.result, large_result=entry.large_result, reason=entry.reason
    )
