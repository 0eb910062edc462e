"""Dead letters grouped by what went wrong."""

import msgspec


class DeadGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Dead letters that died of the same thing."""

    #: Names the group; the same at every look, on every store.
    fingerprint: str
    #: None: they cannot be read.
    task: str | None
    #: The code of the reason.
    code: str
    #: The class of the exception. Empty: there was none.
    error: str
    #: The deepest frame of your own code, as in `jobs.py:12 in resize`. Empty: not known. None: left out.
    place: str | None
    #: The sentence of the newest one. None: it is left out for who may not see payloads.
    text: str | None
    count: int
    #: By queue, how many.
    queues: dict[str, int]
    #: Unix seconds: when the first and the last of them died. None: not kept.
    first_at: float | None
    last_at: float | None
    #: How many died in each hour, the oldest first, up to now (`DeadGroups.hours_since`).
    by_hour: tuple[int, ...]
    #: The newest ids.
    ids: tuple[str, ...]
    #: The traceback of the newest one, with the frames of your own code. Empty: there is none. None: left out.
    traceback: str | None
    redacted: bool = False


class DeadGroups(msgspec.Struct, frozen=True, kw_only=True):
    """The groups, the largest first."""

    groups: tuple[DeadGroup, ...]
    #: Dead letters that were looked at.
    looked_at: int
    #: There are more than were looked at.
    more: bool
    #: Unix seconds: where `DeadGroup.by_hour` begins.
    hours_since: float
