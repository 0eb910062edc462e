"""A group handle: what `app.group` returns, a way to ask about one group later, in any process."""

from datetime import timedelta
from typing import Generic, Protocol, TypeVar

from tenure.errors import BadArgument, GroupNotFound, MessageCancelled, ResultTimeout
from tenure.group import GroupProgress, GroupResult, GroupState
from tenure.rules.group_id import then_id
from tenure.tasks.handle import Asker, Blocking, Handle, Read, SyncHandle

R_co = TypeVar("R_co", covariant=True)

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, _PAUSE_GROWTH = 0.02, 1.0, 1.5


class GroupAsker(Protocol):
    """The part of an app that a group handle uses."""

    async def progress(self, id: str) -> GroupProgress | None:
        """Where a group is."""
        ...

    async def result(self, id: str) -> GroupResult | None:
        """A group with its members."""
        ...

    async def cancel(self, id: str) -> bool:
        """Take a group back."""
        ...

    async def pause_until(self, deadline: float | None, seconds: float) -> bool:
        """Wait a little. False: `deadline` (monotonic) has come."""
        ...

    def deadline_in(self, timeout: float | timedelta | None) -> float | None:
        """Return the moment `timeout` from now, on the monotonic clock."""
        ...


class ThenHandle(Handle[R_co]):
    """The message at the end of a group. `result` waits for the group first; the store knows no message before."""

    __slots__ = ("_asker", "_group")

    def __init__(self, app: Asker, read: Read, asker: GroupAsker, group: str, *, queue: str | None = None) -> None:
        """Refer to the message that follows `group`."""
        super().__init__(app, then_id(group), read, queue=queue)
        self._asker = asker
        self._group = group

    async def result(self, timeout: float | timedelta | None = None) -> R_co:  # noqa: ASYNC109 - the group goes on
        """Wait until the group has ended and this message is completed, and return what its handler returned.

        Raises what `Handle.result` raises, and `MessageCancelled` if the group was cancelled or abandoned.
        """
        deadline = self._asker.deadline_in(timeout)
        pause = _FIRST_PAUSE_SECONDS
        while (progress := await _progress(self._asker, self._group)).then_sent_at is None:
            if progress.state in (GroupState.CANCELLED, GroupState.ABANDONED):
                msg = f"group {self._group} is {progress.state}, so nothing follows it"
                raise MessageCancelled(msg)
            if not await self._asker.pause_until(deadline, pause):
                msg = f"of group {self._group} {progress.ended} of {progress.total} members have ended; ask again later"
                raise ResultTimeout(msg)
            pause = min(_LONGEST_PAUSE_SECONDS, pause * _PAUSE_GROWTH)
        now = self._asker.deadline_in(0.0)
        left = None if deadline is None or now is None else max(0.0, deadline - now)
        return await super().result(left)


class GroupHandle(Generic[R_co]):
    """One group, by its id. Returned by `app.group`, or made by `app.group_handle(id)`."""

    __slots__ = ("_asker", "_then", "duplicate", "id")

    def __init__(
        self, asker: GroupAsker, id: str, then: ThenHandle[R_co] | None = None, *, duplicate: bool = False
    ) -> None:
        """Refer to group `id`."""
        #: The group's id.
        self.id = id
        #: True: a group with this id was submitted before; nothing new was stored.
        self.duplicate = duplicate
        self._asker = asker
        self._then = then

    @property
    def then(self) -> Handle[R_co]:
        """The message that is sent when the group ends. `then.result()` waits for both."""
        if self._then is None:
            msg = f"group {self.id} has no `then` that is known here"
            raise BadArgument(msg)
        return self._then

    async def status(self) -> GroupProgress:
        """Return where the group is: how many members ended how. Raises `GroupNotFound`."""
        return await _progress(self._asker, self.id)

    async def result(self, timeout: float | timedelta | None = None) -> GroupResult:  # noqa: ASYNC109 - the group goes on
        """Wait until the group has ended, at most `timeout` seconds, and return how each member did.

        This is what `then` gets too; for what `then` returned, see `then.result()`. Raises `GroupNotFound`, or
        `ResultTimeout`: the group goes on.
        """
        deadline = self._asker.deadline_in(timeout)
        pause = _FIRST_PAUSE_SECONDS
        while not (progress := await self.status()).state.has_ended:
            if not await self._asker.pause_until(deadline, pause):
                msg = f"of group {self.id} {progress.ended} of {progress.total} members have ended; ask again later"
                raise ResultTimeout(msg)
            pause = min(_LONGEST_PAUSE_SECONDS, pause * _PAUSE_GROWTH)
        result = await self._asker.result(self.id)
        if result is None:
            raise GroupNotFound(_unknown(self.id))
        return result

    async def cancel(self) -> bool:
        """Take the group back: members that have not ended are cancelled, and `then` does not run.

        Returns False if it had ended already; then nothing was changed. Raises `GroupNotFound`.
        """
        return await self._asker.cancel(self.id)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<GroupHandle {self.id}{' duplicate' if self.duplicate else ''}>"


class SyncGroupHandle(Generic[R_co]):
    """As `GroupHandle`, for code that is not async. Returned by `app.group_sync`."""

    __slots__ = ("_handle", "_wait")

    def __init__(self, handle: GroupHandle[R_co], wait: Blocking) -> None:
        """Ask as `handle` does, and wait for the answer."""
        self._handle = handle
        self._wait = wait

    @property
    def id(self) -> str:
        """The group's id."""
        return self._handle.id

    @property
    def duplicate(self) -> bool:
        """As `GroupHandle.duplicate`."""
        return self._handle.duplicate

    @property
    def then(self) -> SyncHandle[R_co]:
        """As `GroupHandle.then`."""
        return SyncHandle(self._handle.then, self._wait)

    def status(self) -> GroupProgress:
        """As `GroupHandle.status`."""
        progress: GroupProgress = self._wait(self._handle.status)
        return progress

    def result(self, timeout: float | timedelta | None = None) -> GroupResult:
        """As `GroupHandle.result`; blocks."""
        result: GroupResult = self._wait(lambda: self._handle.result(timeout))
        return result

    def cancel(self) -> bool:
        """As `GroupHandle.cancel`."""
        changed: bool = self._wait(self._handle.cancel)
        return changed

    def __repr__(self) -> str:
        """Show the id."""
        return f"<SyncGroupHandle {self.id}{' duplicate' if self.duplicate else ''}>"


async def _progress(asker: GroupAsker, id: str) -> GroupProgress:
    progress = await asker.progress(id)
    if progress is None:
        raise GroupNotFound(_unknown(id))
    return progress


def _unknown(id: str) -> str:
    return f"no group {id} is known here: it was never submitted to this place, or it was forgotten"
