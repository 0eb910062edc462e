"""The keeper of groups: what no announcement brings about.

    a submission that was not finished within an hour    is abandoned: its members are cancelled
    a group whose time is over                           expires: the rest is cancelled, and `then` runs with what ended
    a cancel or an end that was interrupted              is brought to its end

Reads one kind of document now and then: where no group is open that is all. Run beside the announcer
(`runtime/deliveries.py`). Two at once do no harm.
"""

import logging

from tenure.group import GroupState
from tenure.groups.ended_log import Contended
from tenure.groups.ending import Ending
from tenure.groups.header import Header, Headers

logger = logging.getLogger("tenure.groups")

#: How often it looks. In the cloud less often: each look is paid for.
LOOK_SECONDS = 30.0


class Keeper:
    """Looks after the groups of one store."""

    def __init__(self, headers: Headers, ending: Ending) -> None:
        """Read nothing before it is asked to."""
        self._headers = headers
        self._ending = ending

    async def look(self) -> int:
        """Do what is due; for how many groups. Raises `BrokerUnavailable`; what was done stays done."""
        wall = self._headers.wall()
        due = [one for one in await self._headers.open() if one.due_at <= wall]
        for one in due:
            header = await self._headers.get(one.id)
            if header is None or header.closed_at is not None:
                await self._headers.unwatch(one.id)
                continue
            try:
                await self._keep(header, wall)
            except Contended:
                logger.info("group %s is ended by another process", one.id)
        return len(due)

    async def _keep(self, header: Header, wall: float) -> None:
        log = self._headers.log(header)
        ended = await log.read()
        if ended.end is None and wall < header.due_at:  # it was submitted since
            await self._headers.watch(header.id, header.due_at, until=header.kept_until)
            return
        if ended.end is None:
            ended = await log.close(_end_of(header))
        await self._ending.finish(header, log, ended)


def _end_of(header: Header) -> GroupState:
    """How a group ends that is due."""
    if header.total == 0:
        return GroupState.COMPLETE
    return GroupState.EXPIRED if header.submitted else GroupState.ABANDONED
