"""A sample: how long one run of a handler took.

Made by `runtime/background/sampler.py`, kept by `Journal` and shared by all workers: what a task usually takes is
learned from the runs of all of them.
"""

from enum import StrEnum

import msgspec


class Ended(StrEnum):
    """The end of a run. A run that failed or was cancelled says nothing about the work, and is no sample."""

    COMPLETED = "completed"
    #: Ended from outside: it would have taken longer than this.
    KILLED = "killed"


class Sample(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One run. `at` is wall time."""

    queue: str
    task: str
    seconds: float
    at: float
    ended: Ended = Ended.COMPLETED
    #: How large the work was, in whatever the task counts. None: it has no size.
    size: int | None = None
    #: What kind of machine it ran on; runs on different kinds cannot be compared. Empty: not known, as over HTTP.
    hardware: str = ""


class StoredSample(msgspec.Struct, frozen=True, gc=False):
    """A sample with its place: go on with `Journal.samples(…, after=seq)`."""

    seq: int
    sample: Sample
