"""The store itself, the sweep, and what is posted to receivers."""

from collections.abc import Iterator, Mapping

from tenure.monitoring.alerting.detector import Look, Seen
from tenure.monitoring.alerting.reading import Reading


def store_away(reading: Reading) -> Iterator[Seen]:
    """Whether it could be read."""
    if reading.away:
        yield Seen(value=1.0, evidence=reading.away)


def store_slow(reading: Reading) -> Iterator[Seen]:
    """How long reading it took."""
    if reading.store_seconds:
        yield Seen(value=reading.store_seconds, evidence=f"one look at it took {reading.store_seconds:.1f} s")


def sweep_late(reading: Reading) -> Iterator[Seen]:
    """Time since the last sweep, in intervals."""
    if reading.last_sweep_at is not None:
        since = max(0.0, reading.now - reading.last_sweep_at)
        text = f"the last sweep was {since:.0f} s ago; one is due every {reading.sweep_interval_seconds:g} s"
        yield Seen(value=since / max(reading.sweep_interval_seconds, 1.0), evidence=text)


def webhooks_failing(reading: Reading) -> Iterator[Seen]:
    """Endpoints that fail, from their first failure until their next success."""
    for one in reading.endpoints:
        if one.failing_since is not None and one.disabled is None:
            since = max(0.0, reading.now - one.failing_since)
            text = f"it has failed for {since / 60:.0f} min: {one.error}"
            yield Seen(subject=one.name, value=1.0, evidence=text)


def webhook_disabled(reading: Reading) -> Iterator[Seen]:
    """Endpoints that were disabled, but not by an operator."""
    for one in reading.endpoints:
        if one.disabled is not None:
            yield Seen(subject=one.name, value=1.0, evidence=one.disabled)


def endings_untold(reading: Reading) -> Iterator[Seen]:
    """How long the oldest ending waits to be announced."""
    if reading.oldest_untold_at is not None:
        since = max(0.0, reading.now - reading.oldest_untold_at)
        yield Seen(value=since, evidence=f"the oldest ending waits for {since / 60:.0f} min to be announced")


def watchdog(_reading: Reading) -> Iterator[Seen]:
    """Something is always seen."""
    yield Seen(value=1.0, evidence="alerts are judged")


SIGNALS: Mapping[str, Look] = {
    "store_away": store_away,
    "store_slow": store_slow,
    "sweep_late": sweep_late,
    "webhooks_failing": webhooks_failing,
    "webhook_disabled": webhook_disabled,
    "endings_untold": endings_untold,
    "watchdog": watchdog,
}
