"""How long to hide a message without a heartbeat: from profiles, or better from measured runs.

A timeout that is too short lets a message run twice; one that is too long only makes the message of a crashed worker
wait. With a `VisibilityHeartbeat` neither happens at a timeout of 30 s, however long the work takes. The arithmetic is
in `tenure.timing`.
"""

import functools
import logging
import math
from collections.abc import Sequence
from typing import Any

from tenure.errors import BadArgument
from tenure.timing.margin import (
    FLOOR_SECONDS,
    SAFETY_BUFFER,
    TimeoutRisk,
    advised_lease_seconds,
    lease_seconds_for,
    risk_of,
    slowest_usual,
    utilization,
)
from tenure.timing.profile import PROFILES, estimate_for_size

logger = logging.getLogger("tenure.standalone")

#: Azure's; SQS hides a message for `SQS_CEILING_SECONDS` at most.
CEILING_SECONDS = 7 * 86_400.0
SQS_CEILING_SECONDS = 43_200.0
SAFETY_BUFFER_PERCENT = SAFETY_BUFFER

#: Seconds, by service: yours may be added, and these changed.
PROCESSING_TIME_ESTIMATES: dict[str, dict[str, float]] = {
    name: {"min": profile.p1, "average": profile.typical, "p95": profile.p95, "max": profile.worst}
    for name, profile in PROFILES.items()
}

_CUT = (
    "a run of %r needs a visibility timeout of %g s, and the service allows %g s: the message would come back while it "
    "is processed; use a VisibilityHeartbeat"
)
_UNKNOWN = "no estimate and no measured duration for %r: the timeout is the default of %g s"


def calculate_visibility_timeout(
    container_name: str,
    use_max: bool = False,  # noqa: FBT001, FBT002 - callers pass it by position
    custom_duration_ms: float | None = None,
    *,
    floor_seconds: float = FLOOR_SECONDS,
    ceiling_seconds: float | None = None,
    queue_url: str | None = None,
) -> int:
    """Seconds to hide a message: × 1.75, rounded up to the next 30 s, between floor and ceiling.

    The ceiling is the service's: 43 200 s with `queue_url`, which is for SQS, else the 7 days of Azure. A measured
    duration wins over an estimate, also for a name that has none. A name without either gets the floor. That, and a
    timeout that the ceiling cuts, log a warning.
    """
    ceiling = _ceiling(ceiling_seconds, queue_url)
    base = _base_seconds(container_name, custom_duration_ms, use_max=use_max)
    if base is None:
        logger.warning(_UNKNOWN, container_name, floor_seconds, extra={"container": container_name})
        return math.ceil(floor_seconds)
    wanted = lease_seconds_for(base, floor=floor_seconds)
    if wanted > ceiling:
        logger.warning(_CUT, container_name, wanted, ceiling, extra={"container": container_name})
    return math.ceil(lease_seconds_for(base, floor=floor_seconds, ceiling=ceiling))


def _ceiling(ceiling_seconds: float | None, queue_url: str | None) -> float:
    """Return the caller's limit, but never more than the service allows."""
    service = CEILING_SECONDS if queue_url is None else SQS_CEILING_SECONDS
    return service if ceiling_seconds is None else min(ceiling_seconds, service)


def _base_seconds(container_name: str, custom_duration_ms: float | None, *, use_max: bool) -> float | None:
    if custom_duration_ms is not None:
        return custom_duration_ms / 1000.0
    estimates = PROCESSING_TIME_ESTIMATES.get(container_name)
    if estimates is None:
        return None
    word = "max" if use_max else "average"
    if word not in estimates:
        msg = f"PROCESSING_TIME_ESTIMATES[{container_name!r}] has no {word!r}; no timeout can be made of it"
        raise BadArgument(msg)
    return estimates[word]


def validate_visibility_timeout(
    timeout_seconds: float, processing_time_ms: float, *, queue_url: str | None = None
) -> bool:
    """Whether the timeout is long enough. From 80 % of it on it is not, and a warning says what to use instead.

    `queue_url` is for SQS, which allows no more than 43 200 s.
    """
    seconds = processing_time_ms / 1000.0
    if risk_of(timeout_seconds, seconds) is TimeoutRisk.OK:
        return True
    logger.warning(
        "a run took %.1f %% of its visibility timeout of %g s; the message may come back while it is processed: %s",
        100.0 * utilization(timeout_seconds, seconds),
        timeout_seconds,
        _advice(timeout_seconds, seconds, _ceiling(None, queue_url)),
    )
    return False


def _advice(timeout_seconds: float, seconds: float, ceiling: float) -> str:
    advised = advised_lease_seconds(timeout_seconds, seconds)
    if timeout_seconds >= ceiling or advised > ceiling:
        return f"renew it by a heartbeat; the service allows no more than {ceiling:g} s"
    return f"raise it to {advised:g} s" if advised > timeout_seconds else "raise it, or renew it by a heartbeat"


def get_recommended_timeout(
    container_name: str,
    processing_times_ms: Sequence[float] | None = None,
    *,
    floor_seconds: float = FLOOR_SECONDS,
    ceiling_seconds: float | None = None,
    queue_url: str | None = None,
) -> dict[str, Any]:
    """The timeout to use, and why.

    Of measured times the one that 99 of 100 runs stay within is the base: far more would outlive a mean.
    """
    calculate = functools.partial(
        calculate_visibility_timeout,
        container_name,
        floor_seconds=floor_seconds,
        ceiling_seconds=ceiling_seconds,
        queue_url=queue_url,
    )
    estimates = PROCESSING_TIME_ESTIMATES.get(container_name)
    times = f"× {1 + SAFETY_BUFFER:g}"
    if processing_times_ms:
        slowest = slowest_usual(processing_times_ms)
        recommended = calculate(custom_duration_ms=slowest)
        reasoning = f"q99 {slowest / 1000:.1f} s of {len(processing_times_ms)} measured operations {times}"
    else:
        recommended = calculate()
        reasoning = (
            f"typical {estimates['average']:g} s {times}, by an estimate{_worst(estimates)}"
            if estimates is not None
            else f"no estimate and no measured duration for {container_name!r}: the default"
        )
    ceiling = _ceiling(ceiling_seconds, queue_url)
    if recommended >= ceiling:
        reasoning += f"; {ceiling:g} s is the most that is allowed: renew it by a heartbeat"
    return {
        "container": container_name,
        "recommended_timeout_seconds": recommended,
        "reasoning": reasoning,
        "safety_buffer_percent": SAFETY_BUFFER * 100,
    }


def _worst(estimates: dict[str, float]) -> str:
    return f" (worst {estimates['max']:g} s)" if "max" in estimates else ""


def estimate_processing_seconds(size_bytes: float) -> float:
    """Seconds that a file of that size takes, by `SIZE_ESTIMATES`."""
    return estimate_for_size(size_bytes).seconds
