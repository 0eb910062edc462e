"""A group: many messages, and one call when all of them have ended. The values that people and handlers see.

    @app.task
    async def publish(album: int, group: GroupResult) -> None:
        for member in group.members: ...

Made by `groups/`, of what the store keeps of a group.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, TypeVar, overload

import msgspec

from tenure.errors import TaskFailed
from tenure.message import MessageState
from tenure.verdict import Reason

T = TypeVar("T")

#: How the target of a member begins: the group's id follows.
GROUP_TARGET = "group:"
#: The header of the message at the end: the parameter of its handler that gets the `GroupResult`.
GROUP_HEADER = "tenure-group"
#: A group may have so many members.
MOST_MEMBERS = 10_000
#: The results of a group, copied into it: about so many bytes in all, and for one member within these bounds.
_ALL_RESULTS, _LEAST_RESULT, _MOST_RESULT = 1024 * 1024, 1024, 16 * 1024


def result_limit(members: int) -> int:
    """A result of so many bytes is copied into a group with so many members. A larger one stays in its record."""
    return max(_LEAST_RESULT, min(_MOST_RESULT, _ALL_RESULTS // max(1, members)))


_NULL = msgspec.Raw(b"null")


class MemberState(StrEnum):
    """How a member of a group ended."""

    COMPLETED = "completed"
    DEAD = "dead"
    CANCELLED = "cancelled"
    #: It had not ended when the group did.
    UNFINISHED = "unfinished"


class GroupState(StrEnum):
    """Where a group is."""

    #: Its members are being sent.
    SUBMITTING = "submitting"
    #: All were sent, and some have not ended.
    RUNNING = "running"
    #: All have ended.
    COMPLETE = "complete"
    #: Its time was over first. What had not ended was cancelled.
    EXPIRED = "expired"
    #: It was taken back.
    CANCELLED = "cancelled"
    #: Its sender died before all members were sent, so it was taken back.
    ABANDONED = "abandoned"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will change."""
        return self not in (GroupState.SUBMITTING, GroupState.RUNNING)


class MemberResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one member of a group ended."""

    #: The message's id.
    id: str
    #: `completed`, `dead`, `cancelled` or `unfinished`.
    state: MemberState
    #: What its handler returned, as JSON. Null: nothing, or it is not completed, or that is too large to be copied.
    result: msgspec.Raw = msgspec.field(default_factory=lambda: _NULL)
    #: Bytes of a result that is too large: `await app.handle(id).result()` reads it, for as long as records are kept.
    large_result: int | None = None
    #: Why it is dead. The traceback stays with the message.
    reason: Reason | None = None

    @property
    def is_completed(self) -> bool:
        """Whether its handler returned."""
        return self.state is MemberState.COMPLETED

    @overload
    def value(self) -> Any: ...
    @overload
    def value(self, kind: type[T]) -> T: ...

    def value(self, kind: Any = Any) -> Any:
        """What its handler returned, as `kind`. Raises `TaskFailed` where there is no result, or it was not copied."""
        if self.is_completed and self.large_result is None:
            return msgspec.json.decode(self.result, type=kind)
        if self.large_result is not None:
            msg = f"the result of {self.id} has {self.large_result} bytes, too many to be copied: app.handle(id) has it"
            raise TaskFailed(msg, reason_code="result_too_large")
        why = "" if self.reason is None else f": {self.reason.text}"
        code = self.state.value if self.reason is None else self.reason.code
        raise TaskFailed(f"{self.id} is {self.state.value}{why}", reason_code=code)


class GroupResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a group ended: what `then` gets, and `GroupHandle.result` returns."""

    #: The group's id.
    id: str
    #: `complete`, `expired`, `cancelled` or `abandoned`.
    state: GroupState
    #: Every member, in the order of the calls.
    members: tuple[MemberResult, ...] = ()

    @classmethod
    def later(cls) -> "GroupResult":
        """What `then` is bound with, where the results will be: `then=publish.bind(7, group=GroupResult.later())`."""
        return cls(id="", state=GroupState.RUNNING)

    @property
    def all_completed(self) -> bool:
        """Whether every handler returned."""
        return all(one.is_completed for one in self.members)

    def those(self, *states: MemberState) -> tuple[MemberResult, ...]:
        """The members that ended so; without states, those that are not completed."""
        if not states:
            return tuple(one for one in self.members if not one.is_completed)
        return tuple(one for one in self.members if one.state in states)

    @property
    def failed(self) -> tuple[MemberResult, ...]:
        """The members that are dead, cancelled or unfinished."""
        return self.those()

    @overload
    def values(self) -> Iterator[Any]: ...
    @overload
    def values(self, kind: type[T]) -> Iterator[T]: ...

    def values(self, kind: Any = Any) -> Iterator[Any]:
        """What the handlers returned, in the order of the calls. Raises `TaskFailed` at the first that has no value."""
        return (one.value(kind) for one in self.members)

    def __getitem__(self, id: str) -> MemberResult:
        """The member with this id. Raises `KeyError`."""
        found = next((one for one in self.members if one.id == id), None)
        if found is None:
            raise KeyError(id)
        return found


class GroupProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a group is, without its results. Times are Unix seconds."""

    #: The group's id.
    id: str
    #: `submitting`, `running`, `complete`, `expired`, `cancelled` or `abandoned`.
    state: GroupState
    #: Members.
    total: int
    #: Members whose handler returned.
    completed: int = 0
    #: Members that became dead letters.
    dead: int = 0
    #: Members that were cancelled.
    cancelled: int = 0
    #: When it was submitted.
    created_at: float
    #: When it ends although members have not ended.
    expires_at: float
    #: None: it has not ended.
    ended_at: float | None = None
    #: The message that is sent when it ends. None: none is.
    then_id: str | None = None
    #: Its task.
    then_task: str | None = None
    #: When that was sent. None: not yet, or never.
    then_sent_at: float | None = None

    @property
    def ended(self) -> int:
        """Members that have ended."""
        return self.completed + self.dead + self.cancelled

    @property
    def unfinished(self) -> int:
        """Members that have not."""
        return self.total - self.ended


_ENDINGS = {
    MessageState.COMPLETED: MemberState.COMPLETED,
    MessageState.DEAD: MemberState.DEAD,
    MessageState.CANCELLED: MemberState.CANCELLED,
}


def member_state(ending: MessageState) -> MemberState:
    """How a member ended, by the state in which its message did."""
    return _ENDINGS[ending]
