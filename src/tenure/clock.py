"""The only door to time.

Two clocks, labelled by use. `monotonic` is for measuring and for every deadline: it never jumps, and on
one host all processes read the same value. `wall` is for storing and showing: it may jump, so nothing is
ever decided by it. Tests hand in a clock they drive (`tenure.testing.VirtualClock`); nothing else in
Tenure may read the time, and ruff holds that.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """What the rest of Tenure knows of time."""

    def monotonic(self) -> float:
        """Seconds on the host's monotonic clock: for measuring and for deadlines."""
        ...

    def wall(self) -> float:
        """Unix seconds: for storing and showing, never for deciding."""
        ...

    def boot_id(self) -> str:
        """Name of the span within which `monotonic` values can be compared."""
        ...


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        """Seconds since an unknown moment that is the same for every process of this boot."""
        return time.monotonic()

    def wall(self) -> float:
        """Unix seconds."""
        return time.time()

    def boot_id(self) -> str:
        """An id the kernel makes anew at each boot."""
        return _boot_id()


def _boot_id() -> str:
    """Ask the kernel; both answers stay the same until the next boot, in every process and container."""
    import subprocess  # noqa: PLC0415 - only macOS gets that far
    import sys  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


SYSTEM_CLOCK = SystemClock()
