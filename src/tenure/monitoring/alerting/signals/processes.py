"""Workers: deaths, heartbeats that fail, clocks, and events that cannot be written."""

from collections.abc import Iterator, Mapping

from tenure.monitoring.alerting.detector import Look, Seen
from tenure.monitoring.alerting.reading import Reading
from tenure.text.plural import plural

_TEN_MINUTES, _QUARTER = 600.0, 900.0


def heartbeats_failing(reading: Reading) -> Iterator[Seen]:
    """Leases whose renewal failed."""
    number = reading.window(_TEN_MINUTES).facts.get("heartbeat_failed", 0)
    if number:
        yield Seen(value=number, evidence=f"{plural(number, 'lease')} could not be renewed in 10 min")


def workers_crashing(reading: Reading) -> Iterator[Seen]:
    """Workers that died without saying so."""
    number = reading.window(_QUARTER).facts.get("owner_retired", 0)
    if number:
        yield Seen(value=number, evidence=f"{plural(number, 'worker')} died in 15 min")


def clock_skew(reading: Reading) -> Iterator[Seen]:
    """How far a worker's wall clock is from the store's."""
    for one in reading.workers:
        if one.is_alive and one.skew_seconds:
            side = "ahead of" if one.skew_seconds > 0 else "behind"
            text = f"its wall clock is {abs(one.skew_seconds):.1f} s {side} the store's"
            yield Seen(subject=one.id, value=abs(one.skew_seconds), evidence=text)


def journal_behind(reading: Reading) -> Iterator[Seen]:
    """How many events a worker could not write yet."""
    for one in reading.workers:
        if one.is_alive and one.journal_waiting:
            text = f"{plural(one.journal_waiting, 'event')} not written yet"
            yield Seen(subject=one.id, value=one.journal_waiting, evidence=text)


SIGNALS: Mapping[str, Look] = {
    "heartbeats_failing": heartbeats_failing,
    "workers_crashing": workers_crashing,
    "clock_skew": clock_skew,
    "journal_behind": journal_behind,
}
