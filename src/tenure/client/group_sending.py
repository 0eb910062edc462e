"""Sending groups, and acting on them: what `app.group` and a group's handle do with an open broker and state.

    write the header   send the members, batch by batch   mark the submission as finished

Killed in between, the same call with the same `id` goes on where it stopped: what has ended is not sent again. Without
that the group is abandoned after an hour (`groups/keeper.py`).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.client.claim_check import refusal
from tenure.client.operator import this_user
from tenure.errors import BadArgument, BrokerUnavailable, GroupNotFound
from tenure.group import GroupProgress, GroupResult, GroupState
from tenure.groups.assembly import Groups
from tenure.groups.handle import GroupHandle, ThenHandle
from tenure.groups.header import EXPIRES_SECONDS, Header
from tenure.groups.reading import GroupReading
from tenure.groups.submission import Submission, check_name, make, with_then
from tenure.message import Outgoing, new_id
from tenure.rules.arguments import seconds
from tenure.rules.group_id import group_id
from tenure.rules.rejections import error_of
from tenure.tasks.call import Call
from tenure.tasks.handle import Read
from tenure.text.plural import plural

if TYPE_CHECKING:
    from tenure.client.client import Client


class GroupClient:
    """Groups, as one client uses them. Implements `tenure.groups.handle.GroupAsker`."""

    def __init__(self, client: "Client", *, by: str = "") -> None:
        """Use the broker and the state of `client`. `by`: who acts; default: the current user."""
        self._client = client
        self._by = by
        self._groups = Groups(client.broker, client.state, self._send_last, self._cancel_some)
        self._reading = GroupReading(self._groups.headers)

    # -- sending -----------------------------------------------------------------------------------

    async def submit(
        self, calls: Sequence[Call[Any]], then: Call[Any] | None, *, read: Read, id: str | None,
        expires: float | timedelta | None,
    ) -> GroupHandle[Any]:  # fmt: skip
        """Send a group; returns when none of it can be lost any more."""
        if id is not None:
            check_name(id)
        client = self._client
        await client.open()
        wall = client.state.wall()
        group = group_id(new_id(wall) if id is None else id, client.namespace)
        lasts = EXPIRES_SECONDS if expires is None else seconds(expires, "expires", least=1.0)
        made = await self._resolved(
            make(group, calls, then, client=client.name, sent_at=wall, expires_seconds=lasts)
        )  # fmt: skip
        self._check(made)
        header = made.header
        last: ThenHandle[Any] | None = None
        if made.then is not None:
            last = ThenHandle(client, read, self, group, queue=made.then.message.queue)
        if not await self._groups.headers.create(header):
            known = await self._known(header)
            if known.submitted or known.closed_at is not None:
                return GroupHandle(self, group, last, duplicate=True)
            header = known
        await self._send_members(header, made.members)
        await self._submitted(header)
        return GroupHandle(self, group, last)

    async def _resolved(self, made: Submission) -> Submission:
        """With the endpoints of all webhooks. Raises `WebhookRefused`."""
        resolve = self._client.webhook_targets.resolve
        members = [
            await resolve(out) if len(out.message.announce) > 1 else out for out in made.members
        ]  # fmt: skip
        last = None if made.then is None else await resolve(made.then)
        return Submission(with_then(made.header, last), members, last)

    def _check(self, made: Submission) -> None:
        """Refuse the whole group for one message that cannot be sent, as far as that can be known now."""
        broker, check = self._client.broker, self._client.claim_check
        for out in (*made.members, *([] if made.then is None else [made.then])):
            why = refusal(broker, check, out)
            if why is not None:
                error = error_of(why)
                error.add_note(f"this was said of {out.message.id}; nothing of the group was sent")
                raise error

    async def _known(self, header: Header) -> Header:
        known = await self._groups.headers.get(header.id)
        if known is None:
            msg = f"group {header.id} was forgotten at this very moment; nothing was sent, submit it again"
            raise BrokerUnavailable(msg)
        if known.digest != header.digest:
            msg = f"id {header.id} is that of another group, with other calls; nothing was sent. Choose another id"
            raise BadArgument(msg)
        return known

    async def _send_members(self, header: Header, members: Sequence[Outgoing]) -> None:
        log = self._groups.headers.log(header)
        left = [members[place] for place in await log.missing()]
        limit = self._client.broker.traits.batch_limit
        for start in range(0, len(left), limit):
            batch = left[start : start + limit]
            try:
                answers = await self._client.send_made(batch)
            except BrokerUnavailable as error:
                error.add_note(
                    f"{start} of {plural(len(left), 'member')} of group {header.id} were sent. The same call with "
                    f"id={header.id!r} sends the rest; without it the group is cancelled after an hour"
                )
                raise
            why = next((sent.refusal for sent in answers if sent.refusal is not None), None)
            if why is not None:
                await self._close(header, GroupState.CANCELLED)
                refused = error_of(why)
                refused.add_note(f"group {header.id} was taken back: its members were cancelled, nothing follows")
                raise refused

    async def _submitted(self, header: Header) -> None:
        headers = self._groups.headers
        done = await headers.change(header.id, lambda known: msgspec.structs.replace(known, submitted=True))
        if done is None:
            return  # it ended long ago, and was forgotten
        log = headers.log(done)
        ended = await (log.close(GroupState.COMPLETE) if done.total == 0 else log.read())
        if ended.end is None:
            await headers.watch(done.id, done.due_at, until=done.kept_until)
        elif ended.end is GroupState.ABANDONED:  # it took more than an hour
            await self._groups.ending.finish(msgspec.structs.replace(done, closed_at=None), log, ended)
            msg = f"group {done.id} was sent for more than an hour, and was taken back; submit it again"
            raise BrokerUnavailable(msg)
        elif done.total == 0:
            await self._groups.ending.finish(done, log, ended)

    # -- asking ------------------------------------------------------------------------------------

    async def progress(self, id: str) -> GroupProgress | None:
        """Where a group is. None: it is not known."""
        await self._client.open()
        return await self._reading.progress(self._own(id))

    async def result(self, id: str) -> GroupResult | None:
        """A group with its members. None: it is not known."""
        await self._client.open()
        return await self._reading.result(self._own(id))

    async def cancel(self, id: str) -> bool:
        """Take a group back. False: it had ended."""
        await self._client.open()
        header = await self._groups.headers.get(self._own(id))
        if header is None:
            msg = f"no group {id} is known here: it was never submitted to this place, or it was forgotten"
            raise GroupNotFound(msg)
        return await self._close(header, GroupState.CANCELLED)

    async def _close(self, header: Header, end: GroupState) -> bool:
        headers = self._groups.headers
        log = headers.log(header)
        if (await log.read()).end is not None:
            return False
        # If this process dies now, the keeper brings it to its end.
        await headers.watch(header.id, 0.0, until=header.kept_until)
        ended = await log.close(end)
        await self._groups.ending.finish(header, log, ended)
        return ended.end is end

    def _own(self, id: str) -> str:
        return group_id(id, self._client.namespace)

    async def pause_until(self, deadline: float | None, seconds: float) -> bool:
        """As `Client.pause_until`."""
        return await self._client.pause_until(deadline, seconds)

    def deadline_in(self, timeout: float | timedelta | None) -> float | None:
        """As `Client.deadline_in`."""
        return self._client.deadline_in(timeout)

    async def _send_last(self, batch: Sequence[Outgoing]) -> Any:
        return await self._client.send(batch, within_quota=False)

    async def _cancel_some(self, ids: Sequence[str], queue: str | None) -> object:
        return await self._client.operator(by=self._by or this_user()).cancel(ids, queue)
