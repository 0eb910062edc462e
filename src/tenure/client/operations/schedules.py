"""Schedules: what is sent by itself, when it was last, when it is next; run one now, pause, resume, forget."""

import msgspec

from tenure.client.operations.operations import Operations
from tenure.message import MessageState


class SchedulePause(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule for whose ticks no message is sent."""

    at: float
    by: str


class ScheduleStatus(msgspec.Struct, frozen=True, kw_only=True):
    """One schedule, as far as it is known."""

    name: str
    spec: str
    task: str
    queue: str
    #: Whether the app's code has it. None: there is no code to ask.
    in_app: bool | None
    #: The newest tick. None: there was none yet.
    last_at: float | None = None
    #: The message of that tick. None: the tick was skipped, or there was none.
    message_id: str | None = None
    #: None: it has none, or its record has expired.
    message_state: MessageState | None = None
    next_at: float | None = None
    paused: SchedulePause | None = None


class ScheduleList(msgspec.Struct, frozen=True, kw_only=True):
    """Every schedule of the code or of the store, by name."""

    schedules: tuple[ScheduleStatus, ...]


class ScheduleRun(msgspec.Struct, frozen=True, kw_only=True):
    """The message that a schedule was run with."""

    name: str
    message_id: str
    #: Nothing new was stored: a message of this schedule was waiting already.
    duplicate: bool = False


class ScheduleChange(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a schedule."""

    name: str
    #: False: it was so before.
    changed: bool


class ScheduleOperations(Operations):
    """What can be asked of and done to schedules. All acts raise `UnknownSchedule`."""

    async def schedules(self) -> ScheduleList:
        """Return the schedules with their last and next ticks."""
        raise NotImplementedError

    async def run_schedule(self, name: str) -> ScheduleRun:
        """Send one message of a schedule now, outside its ticks. Needs the app's code."""
        raise NotImplementedError

    async def pause_schedule(self, name: str) -> ScheduleChange:
        """Let no message be sent for the ticks of a schedule, until it is resumed; they are not made up for."""
        raise NotImplementedError

    async def resume_schedule(self, name: str) -> ScheduleChange:
        """Let a schedule go on, with its next tick."""
        raise NotImplementedError

    async def forget_schedule(self, name: str) -> ScheduleChange:
        """Forget the last tick of a schedule; one in the code begins anew."""
        raise NotImplementedError
