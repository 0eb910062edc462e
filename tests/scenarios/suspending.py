"""`tenure`, in a process whose machine was asleep: for as many seconds as the file `asleep` says.

While a machine sleeps CLOCK_BOOTTIME and the wall clock go on and CLOCK_MONOTONIC does not. So both of the former are
ahead by that number, which a test writes while all processes stand still. The file lies in the scenario's folder and is
read each time somebody asks for the time. Run as `python -m scenarios.suspending worker …`.
"""

import os
import time
from pathlib import Path

_BILLION = 1_000_000_000
_ASLEEP = Path(os.environ.get("SCENARIO", ".")) / "asleep"
_AHEAD = (time.CLOCK_BOOTTIME, time.CLOCK_REALTIME)

# The clocks themselves.
_time, _time_ns = time.time, time.time_ns
_gettime, _gettime_ns = time.clock_gettime, time.clock_gettime_ns


def asleep() -> float:
    """How long this machine has slept."""
    return float(_ASLEEP.read_text()) if _ASLEEP.exists() else 0.0


def _asleep_of(clock: int) -> float:
    return asleep() if clock in _AHEAD else 0.0


def pretend() -> None:
    """Have every clock of this process tell it so."""
    time.time = lambda: _time() + asleep()
    time.time_ns = lambda: _time_ns() + int(asleep() * _BILLION)
    time.clock_gettime = lambda clock: _gettime(clock) + _asleep_of(clock)
    time.clock_gettime_ns = lambda clock: _gettime_ns(clock) + int(_asleep_of(clock) * _BILLION)


if __name__ == "__main__":
    pretend()
    from tenure.cli import main

    main()
