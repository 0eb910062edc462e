"""A consumer report: what a server says every few seconds of the programs that lease from it over HTTP.

Kept as a key-value of kind `REPORT_KIND` under a name of the server's own, with an expiry. Written by
`server/consumers/activity.py`, read by `client/operations/consumers.py`. Fields are only added, each with a default.
"""

import msgspec

REPORT_KIND = "consumers"
#: Names of queues that are kept of one consumer.
MOST_QUEUES = 10
#: A report names so many consumers: those that were heard last.
MOST_CONSUMERS = 100


class ConsumerActivity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What one consumer did at one server."""

    #: The owner of its leases.
    id: str
    #: The names and patterns of queues that it asked for last.
    queues: tuple[str, ...] = ()
    #: Wall time of its last request, by the store's clock.
    heard_at: float = 0.0
    #: Messages that it finished in the last minute.
    rate_per_minute: float = 0.0
    #: Attempts that ended in error in the last minute.
    errors_per_minute: float = 0.0


class ConsumerReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The consumers of one server."""

    #: Wall time by the store's clock.
    at: float
    consumers: tuple[ConsumerActivity, ...] = ()


def encoded(report: ConsumerReport) -> bytes:
    """Encode the report as it is kept."""
    return msgspec.json.encode(report)


def decoded(data: bytes) -> ConsumerReport | None:
    """Decode a kept report. None: it cannot be read."""
    try:
        return msgspec.json.decode(data, type=ConsumerReport)
    except msgspec.MsgspecError:
        return None
