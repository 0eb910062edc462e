"""An examination: one thing about a set-up that was looked at, what was seen, and what is wrong with it.

Made by `Examinable.examine` of a broker and by the checks of `client/operations/doctor`; shown by `tenure doctor`. Ids
and areas are promises: scripts filter by them.
"""

from enum import StrEnum

import msgspec

from tenure.finding import Finding


class Area(StrEnum):
    """What an examination is about. Pages show the areas in this order."""

    STORE = "store"
    QUEUES = "queues"
    WORKERS = "workers"
    TIMING = "timing"
    ACCESS = "access"
    WEBHOOKS = "webhooks"
    SETTINGS = "settings"


class Examination(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    #: Such as `eviction`.
    id: str
    area: Area
    #: A few words for people, such as `eviction`.
    title: str
    #: What was seen, one clause. Empty: it could not be looked at.
    seen: str = ""
    #: What is wrong with it. Empty: nothing, or it could not be looked at.
    findings: tuple[Finding, ...] = ()
    #: Why it cannot be known from here, as where a server does not tell. Empty: it was looked at.
    unknown: str = ""
