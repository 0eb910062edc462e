"""Notices: what operators and schedules tell every worker.

Kept by `Board`, read once a second by `runtime/noticing.py`.
"""

import msgspec


class Pause(msgspec.Struct, frozen=True):
    """A queue from which nothing is leased until somebody resumes it."""

    queue: str
    #: Wall time; for showing.
    at: float
    by: str = ""


class Notices(msgspec.Struct, frozen=True):
    """What a worker must know now."""

    paused: tuple[Pause, ...] = ()
    #: How many leased messages were ever cancelled here. When it rises, a worker asks which of its leases still stand.
    cancels: int = 0


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """The newest moment of a schedule for which its message was sent. Times are wall times."""

    schedule: str
    at: float
    #: The message of that tick. Empty: the schedule was only seen for the first time, or the tick was skipped.
    message_id: str = ""
    #: What the schedule says, for people: "0 3 * * * Europe/Berlin".
    spec: str = ""
    task: str = ""
    queue: str = ""
    next_at: float | None = None
