"""The target kind `group`: enters the endings of members into their group, and ends a group with its last member.

All of a page are entered together, so a group of 10,000 costs a write for some hundred members. Nothing is made that
the announcer would have to send: when `begin` returns, the endings are in the store, and `then` was sent if it was
time. Killed in between, the page is read again; what is there already changes nothing.

Given to `webhooks/announcer.py`. After it: `ending.py`.
"""

import logging
from collections import OrderedDict, defaultdict
from collections.abc import Sequence
from typing import NoReturn

import msgspec

from tenure.announcement import Announcement
from tenure.group import GROUP_TARGET, member_state, result_limit
from tenure.groups.ended_log import Contended, EndedLog, Entry
from tenure.groups.ending import Ending
from tenure.groups.header import Header, Headers
from tenure.rules.group_id import place_of
from tenure.text.plural import plural
from tenure.verdict import Reason
from tenure.webhooks.target_kind import NOTHING, Made
from tenure.webhooks.window import TakenOver

logger = logging.getLogger("tenure.groups")

#: So many groups are known at a time, with the places of their members.
_MOST_KNOWN = 64
#: Characters of a reason that are copied.
_LONGEST_REASON = 500


class _Known:
    """A group, as this process knows it."""

    def __init__(self, header: Header, log: EndedLog) -> None:
        self.header = header
        self.log = log


class GroupKind:
    """Groups, as a kind of target."""

    #: What its targets begin with.
    name = GROUP_TARGET.rstrip(":")

    def __init__(self, headers: Headers, ending: Ending) -> None:
        """Read nothing before a member ends."""
        self._headers = headers
        self._ending = ending
        self._known: OrderedDict[str, _Known] = OrderedDict()

    async def begin(self, endings: Sequence[tuple[Announcement, str]]) -> None:
        """Enter the endings of one page. Raises `TakenOver`, `BrokerUnavailable`."""
        by_group: dict[str, list[Announcement]] = defaultdict(list)
        for ending, target in endings:
            by_group[target.removeprefix(GROUP_TARGET)].append(ending)
        for group, own in by_group.items():
            await self._enter(group, own)

    async def _enter(self, group: str, endings: Sequence[Announcement]) -> None:
        known = await self._find(group)
        if known is None:
            logger.info("group %s was forgotten; %s of it ended since", group, plural(len(endings), "member"))
            return
        if known.header.closed_at is not None:
            return
        limit = result_limit(known.header.total)
        entries = [one for one in (_entry(ending, group, limit) for ending in endings) if one is not None]
        try:
            ended = await known.log.add(entries)
        except Contended as error:
            raise TakenOver(group) from error
        if ended.end is not None:
            known.header = await self._ending.finish(known.header, known.log, ended)

    async def _find(self, group: str) -> _Known | None:
        known = self._known.get(group)
        if known is None:
            header = await self._headers.get(group)
            if header is None:
                return None
            known = self._known[group] = _Known(header, self._headers.log(header))
            if len(self._known) > _MOST_KNOWN:
                self._known.popitem(last=False)
        self._known.move_to_end(group)
        return known

    # -- nothing is left to do for the announcer ---------------------------------------------------

    async def lane(self, ending: Announcement, target: str) -> None:  # noqa: ARG002 - the protocol's
        """It waits for nothing."""
        return

    async def make(self, ending: Announcement, target: str) -> Made:  # noqa: ARG002 - the protocol's
        """Nothing: `begin` has done it."""
        return NOTHING

    async def room(self, lane: str) -> NoReturn:
        """No lane is ever named."""
        raise NotImplementedError(lane)

    async def reserve(self, lane: str, ids: Sequence[str]) -> NoReturn:
        """No lane is ever named."""
        raise NotImplementedError(lane)

    async def is_reserved(self, lane: str, id: str) -> NoReturn:
        """No lane is ever named."""
        raise NotImplementedError(lane)


def _entry(ending: Announcement, group: str, limit: int) -> Entry | None:
    """What the group keeps of one ending. None: it is no member."""
    place = place_of(ending.id, group)
    if place is None:
        return None
    state, reason = member_state(ending.ending), ending.reason
    if reason is not None:
        reason = Reason(reason.code, reason.text[:_LONGEST_REASON], error=reason.error)
    if ending.result is not None and len(ending.result) <= limit:
        return Entry(place, state, msgspec.Raw(ending.result or b"null"), reason=reason)
    size = ending.large_result if ending.result is None else len(ending.result)
    return Entry(place, state, large_result=size, reason=reason)
