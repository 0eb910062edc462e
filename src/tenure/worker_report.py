"""A worker report: what a worker says of itself every few seconds, beside what the roster says of it.

Kept as a key-value of kind `REPORT_KIND` under the worker's id, with an end of its own. Written by
`runtime/background/worker_reports.py`, read by `client/operations/workers.py`. Fields are only added,
each with a default: workers of neighbouring versions read each other.
"""

import msgspec

REPORT_KIND = "worker"
#: Rates are of this many last seconds, or of two reports where those are further apart.
RATE_SECONDS = 60.0


class WorkerReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a worker when it wrote this. None: it cannot know."""

    #: Wall time by the store's clock.
    at: float
    #: Of Tenure.
    version: str | None = None
    #: CPU that the process used since its last report, in percent of one core: 150 is one and a half cores.
    cpu_percent: float | None = None
    #: Resident memory of the process (RSS). Its child processes are not in it.
    memory_bytes: int | None = None
    #: Wall time at which an operator had it drain or stop. None: it works.
    leaving_since: float | None = None
    #: Why it leaves, as in `drained by alice (dashboard)`. Empty: it works.
    leaving: str = ""
    #: Messages that it finished, by `RATE_SECONDS`.
    rate_per_minute: float | None = None
    #: Attempts that ended in error.
    errors_per_minute: float | None = None
    #: Its machine's wall clock minus the store's.
    skew_seconds: float | None = None
    #: Events that it could not write to the journal yet.
    journal_waiting: int | None = None


def encoded(report: WorkerReport) -> bytes:
    """Encode the report as it is kept."""
    return msgspec.json.encode(report)


def decoded(data: bytes) -> WorkerReport | None:
    """Decode a kept report. None: it cannot be read."""
    try:
        return msgspec.json.decode(data, type=WorkerReport)
    except msgspec.MsgspecError:
        return None
