"""A group handle: what `app.group` returns, a way to ask about one group later, in any process."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, Generic, Protocol, TypeVar

from tenure.errors import BadArgument, GroupNotFound, ResultTimeout
from tenure.group import GroupProgress, GroupResult
from tenure.tasks.handle import Blocking, Handle, SyncHandle

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


class GroupHandle(Generic[R_co]):
    """One group, by its id. Returned by `app.group`, or made by `app.group_handle(id)`."""

    __slots__ = ("_asker", "_then", "duplicate", "id")

    def __init__(
        self, asker: GroupAsker, id: str, then: Handle[R_co] | None = None, *, duplicate: bool = False
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
        """The message that is sent when the group ends. It is not known to the store before."""
        if self._then is None:
            msg = f"group {self.id} has no `then` that is known here"
            raise BadArgument(msg)
        return self._then

    async def status(self) -> GroupProgress:
        """Return where the group is: how many members ended how. Raises `GroupNotFound`."""
        progress = await self._asker.progress(self.id)
        if progress is None:
            raise GroupNotFound(_unknown(self.id))
        return progress

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
        return self._blocking(self._handle.status)

    def result(self, timeout: float | timedelta | None = None) -> GroupResult:
        """As `GroupHandle.result`; blocks."""
        return self._blocking(lambda: self._handle.result(timeout))

    def cancel(self) -> bool:
        """As `GroupHandle.cancel`."""
        return self._blocking(self._handle.cancel)

    def _blocking(self, work: Callable[[], Any]) -> Any:
        return self._wait(work)

    def __repr__(self) -> str:
        """Show the id."""
        return f"<SyncGroupHandle {self.id}{' duplicate' if self.duplicate else ''}>"


def _unknown(id: str) -> str:
    return f"no group {id} is known here: it was never submitted to this place, or it was forgotten"
