"""Health: what is wrong with a store and those who work on it. One judgement for `tenure health` and `/readyz`. Pure.

Both ask whether the store answers and whether the sweep is late. What they look at differs, because they serve
different probes:

    tenure health   is this deployment healthy? Workers must be alive, and each queue must have one. It asks for the
                    turn to sweep, so it may wait two intervals, and says late after exactly two.
    /readyz         may this server get requests? Workers do not matter. It never waits: it says late when this server
                    has seen no sweep for two intervals, and for 10 s at least.
"""

from collections.abc import Sequence

#: After this many intervals without a sweep it is late.
LATE_INTERVALS = 2.0


def late_after(interval_seconds: float, least_seconds: float = 0.0) -> float:
    """Seconds without a sweep after which it is late."""
    return max(LATE_INTERVALS * interval_seconds, least_seconds)


def problems_of(
    *,
    store: bool,
    sweep: bool | None = None,
    late_seconds: float = 0.0,
    unserved: Sequence[str] = (),
    needs_worker: bool = False,
    workers: int | None = None,
) -> tuple[str, ...]:
    """Return the problems, one clause each; empty: there are none.

    - `store`: Whether it answered. If not, all else is unknown but for what was seen before.
    - `sweep`: Whether sweeps run. None: not known. `late_seconds`: the time without a sweep.
    - `unserved`: Queues without a worker. `needs_worker`: with no worker at all something is wrong.
    """
    found = [] if store else ["the store does not answer"]
    found += [f"no worker serves queue {queue}" for queue in unserved]
    if needs_worker and workers == 0:
        found.append("no worker is alive")
    if sweep is False:
        found.append(f"no sweep has run for {late_seconds:g} s")
    return tuple(found)
