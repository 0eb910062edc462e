"""The header of a group: what was decided when it was submitted, and how far its submission and its end are.

Two documents: the header itself, kept for a month after the group, and while the group is open a small one that says
when the keeper must look at it. So the keeper reads only the groups whose time has come.
"""

from collections.abc import Callable

import msgspec

from tenure.group import GroupProgress, GroupState
from tenure.groups.ended_log import Ended, EndedLog
from tenure.key_value import name_of
from tenure.state import State

KIND, OPEN_KIND = "group", "group-open"
#: A group ends after so long, unless its sender says otherwise.
EXPIRES_SECONDS = 7 * 86_400.0
#: A submission that is not finished after so long is taken back.
SUBMIT_SECONDS = 3_600.0
#: So long after its expiry a group is forgotten.
KEPT_SECONDS = 30 * 86_400.0
_TRIES = 8


class Then(msgspec.Struct, frozen=True, omit_defaults=True):
    """The message that is sent when the group ends. Its bytes are the same however often it is sent."""

    id: str
    task: str
    #: Its envelope, as of the submission.
    envelope: msgspec.Raw
    delay_seconds: float = 0.0


class Header(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is known of a group but for its members' ends."""

    id: str
    total: int
    #: Wall time.
    created_at: float
    expires_at: float
    #: Tells this submission from another one under the same id.
    digest: str
    #: The queues of its members.
    queues: tuple[str, ...] = ()
    client: str | None = None
    then: Then | None = None
    #: All members were sent.
    submitted: bool = False
    #: It ended, and all that follows is done: nothing is left to do, whatever is still announced.
    closed_at: float | None = None
    #: When `then` was sent.
    then_sent_at: float | None = None

    @property
    def kept_until(self) -> float:
        """Wall time until which its documents are kept."""
        return self.expires_at + KEPT_SECONDS

    @property
    def due_at(self) -> float:
        """When the keeper must look at it."""
        if self.total == 0:
            return self.created_at
        return self.expires_at if self.submitted else min(self.expires_at, self.created_at + SUBMIT_SECONDS)

    def state(self, ended: Ended) -> GroupState:
        """Where the group is."""
        return ended.end or (GroupState.RUNNING if self.submitted else GroupState.SUBMITTING)

    def progress(self, ended: Ended) -> GroupProgress:
        """The group as people see it."""
        counts = ended.counts
        return GroupProgress(
            id=self.id, state=self.state(ended), total=self.total, completed=counts.completed, dead=counts.dead,
            cancelled=counts.cancelled, created_at=self.created_at, expires_at=self.expires_at, ended_at=ended.at,
            then_id=None if self.then is None else self.then.id,
            then_task=None if self.then is None else self.then.task, then_sent_at=self.then_sent_at,
        )  # fmt: skip


class Open(msgspec.Struct, frozen=True):
    """Kept while a group is open."""

    id: str
    due_at: float


class Headers:
    """The headers in one store."""

    def __init__(self, state: State) -> None:
        """Read nothing before it is asked for."""
        self._state = state
        self._values = state.key_values

    def wall(self) -> float:
        """The store's time."""
        return self._state.wall()

    def log(self, header: Header) -> EndedLog:
        """The members of a group that have ended."""
        return EndedLog(self._state, header.id, header.total, kept_until=header.kept_until)

    async def get(self, id: str) -> Header | None:
        """The header of a group. None: there is none, or it was forgotten."""
        value = await self._values.get(KIND, name_of(id))
        return None if value is None else msgspec.json.decode(value.data, type=Header)

    async def create(self, header: Header) -> bool:
        """Write a new one. False: the id is taken."""
        # First what leads the keeper to it: a header that nobody looks after would stay open for ever.
        await self.watch(header.id, header.due_at, until=header.kept_until)
        data, until = msgspec.json.encode(header), header.kept_until
        return await self._values.put(KIND, name_of(header.id), data, expect=None, expires_at=until) is not None

    async def change(self, id: str, decide: Callable[[Header], Header]) -> Header | None:
        """Change it as `decide` says, which may be asked several times. None: there is none."""
        for _ in range(_TRIES):
            value = await self._values.get(KIND, name_of(id))
            if value is None:
                return None
            known = msgspec.json.decode(value.data, type=Header)
            new = decide(known)
            if new == known:
                return known
            data = msgspec.json.encode(new)
            if await self._values.put(
                KIND, name_of(id), data, expect=value.version, expires_at=new.kept_until
            ):  # fmt: skip
                return new
        msg = f"group {id} is changed by others again and again"
        raise RuntimeError(msg)

    async def remove(self, header: Header) -> None:
        """Forget a group."""
        await self.log(header).remove()
        await self.unwatch(header.id)
        await self._values.remove(KIND, name_of(header.id))

    # -- those that are open -----------------------------------------------------------------------

    async def open(self) -> list[Open]:
        """The groups that are open, at most `key_value.MOST_LISTED` of them. One read where there are few."""
        return [msgspec.json.decode(one.data, type=Open) for one in await self._values.list(OPEN_KIND)]

    async def watch(self, id: str, due_at: float, *, until: float) -> None:
        """Let the keeper look at it from then on."""
        data = msgspec.json.encode(Open(id, due_at))
        for _ in range(_TRIES):
            known = await self._values.get(OPEN_KIND, name_of(id))
            version = None if known is None else known.version
            if await self._values.put(OPEN_KIND, name_of(id), data, expect=version, expires_at=until):
                return
        raise RuntimeError(f"group {id} is watched by others again and again")

    async def unwatch(self, id: str) -> None:
        """It needs no looking after any more."""
        await self._values.remove(OPEN_KIND, name_of(id))

    async def all(self) -> list[Header]:
        """The groups that are kept, at most `key_value.MOST_LISTED` of them."""
        return [msgspec.json.decode(one.data, type=Header) for one in await self._values.list(KIND)]
