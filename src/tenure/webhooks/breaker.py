"""The breaker: when a failing endpoint rests as a whole. Pure.

    closed      deliveries go out
    open        after `FAILURES_TO_OPEN` failures with no success between them, or because the receiver named a time
                (Retry-After): nothing goes out until `rests_until`
    half-open   then one delivery goes out as a probe; its success closes, its failure opens for twice as long

While it is open the endings stay as announcements, and the few deliveries that exist wait. `health.py` keeps the value
where every worker reads it.
"""

from enum import StrEnum

import msgspec

#: With no success between them.
FAILURES_TO_OPEN = 5
FIRST_REST_SECONDS = 15.0
LONGEST_REST_SECONDS = 300.0
#: A receiver that names a longer time is asked again after this.
LONGEST_RETRY_AFTER_SECONDS = 3_600.0
#: A probe whose worker died is forgotten after this. Longer than a request may take.
PROBE_SECONDS = 60.0


class BreakerState(StrEnum):
    """Whether deliveries go out."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Health(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known of an endpoint. The value without fields: nothing is wrong. Times are the store's wall time."""

    #: Failures with no success between them.
    failures: int = 0
    #: When the first of them was. None: there was none.
    since: float | None = None
    #: Until then nothing goes out.
    rests_until: float = 0.0
    #: How often in a row it opened.
    rests: int = 0
    #: Until then another worker probes.
    probed_until: float = 0.0
    #: The newest answer: an HTTP status, or None for no answer.
    status: int | None = None
    error: str = ""

    @property
    def is_well(self) -> bool:
        """Whether the last delivery succeeded, as far as is known."""
        return self.since is None


WELL = Health()


def state_of(health: Health, wall: float) -> BreakerState:
    """Whether deliveries go out at `wall`."""
    if wall < health.rests_until:
        return BreakerState.OPEN
    return BreakerState.HALF_OPEN if health.rests else BreakerState.CLOSED


def probing(health: Health, wall: float) -> Health | None:
    """The value once a worker has taken the probe. None: another one has it."""
    return None if wall < health.probed_until else msgspec.structs.replace(health, probed_until=wall + PROBE_SECONDS)


def after_failure(
    health: Health, wall: float, status: int | None, error: str, *, retry_after: float | None = None
) -> Health:
    """The value after a failure that was seen at `wall`."""
    failures, rests, until = health.failures + 1, health.rests, health.rests_until
    if retry_after is not None:
        until, rests = max(until, wall + min(retry_after, LONGEST_RETRY_AFTER_SECONDS)), max(rests, 1)
    # Requests that were under way when it opened say nothing new: they must not open it for longer.
    elif wall >= until and (rests or failures >= FAILURES_TO_OPEN):
        until, rests = wall + min(LONGEST_REST_SECONDS, FIRST_REST_SECONDS * 2.0 ** min(rests, 16)), rests + 1
    return Health(
        failures=failures, since=wall if health.since is None else health.since, rests_until=until, rests=rests,
        status=status, error=error,
    )  # fmt: skip


def has_failed_for(health: Health, wall: float, seconds: float) -> bool:
    """Whether it has failed for so long, often enough to be sure, that it must be disabled."""
    return health.since is not None and wall - health.since >= seconds and health.failures >= FAILURES_TO_OPEN
