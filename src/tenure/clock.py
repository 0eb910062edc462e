"""The only source of time.

Two clocks, labelled by use. `monotonic` is for measuring and for every deadline: it never goes back, setting the
wall clock does not change it, it counts the time that the machine was suspended, and on one host all processes read
the same value. `wall` is the clock of this machine, for storing and showing. It may jump, and it may differ from every
other machine's, so nothing that machines must agree on is decided by it: that is `State.wall`, the store's wall time.

Timers of an event loop (`asyncio.sleep`, `loop.time`) stand still while the machine is suspended. So
`clock.monotonic() - loop.time()` grows by the time asleep; `runtime/background/suspension.py` looks at that.

Tests hand in a clock they drive (`tenure.testing.VirtualClock`); nothing else in Tenure may read the time, and ruff
holds that.
"""

import time
from typing import Protocol


class Clock(Protocol):
    """The clock of the rest of Tenure."""

    def monotonic(self) -> float:
        """Seconds that never go back and count time asleep: for measuring and for deadlines."""
        ...

    def wall(self) -> float:
        """Unix seconds by this machine: for storing and showing; `State.wall` is for deciding."""
        ...

    def boot_id(self) -> str:
        """Name of the span within which `monotonic` values can be compared."""
        ...


#: Linux: CLOCK_MONOTONIC stands still while the machine is suspended, CLOCK_BOOTTIME does not. macOS has no
#: CLOCK_BOOTTIME, and there CLOCK_MONOTONIC goes on (unlike `time.monotonic`). None: the platform has neither.
_SINCE_BOOT: int | None = getattr(time, "CLOCK_BOOTTIME", getattr(time, "CLOCK_MONOTONIC", None))


class SystemClock:
    """The machine's own clocks."""

    def monotonic(self) -> float:
        """Seconds since an unknown moment that is the same for every process of this boot, time asleep included."""
        return time.monotonic() if _SINCE_BOOT is None else time.clock_gettime(_SINCE_BOOT)

    def wall(self) -> float:
        """Unix seconds."""
        return time.time()

    def boot_id(self) -> str:
        """An id the kernel makes again at each boot."""
        return _boot_id()


def asleep_seconds(clock: Clock) -> float:
    """Return how far `clock.monotonic` is ahead of `time.monotonic`: by the time asleep since the boot."""
    return clock.monotonic() - time.monotonic() if isinstance(clock, SystemClock) else 0.0


def _boot_id() -> str:
    """Ask the kernel; both answers stay the same until the next boot, in every process and container."""
    import subprocess  # noqa: PLC0415 - only macOS gets that far
    import sys  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from tenure.errors import ConfigurationError  # noqa: PLC0415

    if sys.platform == "win32":
        msg = (
            "workers run on Linux and macOS, not on Windows, where Tenure cannot tell which worker is alive; nothing "
            "was started. Use WSL 2 or a container; to submit to Redis, SQS or Azure needs no worker"
        )
        raise ConfigurationError(msg)
    if sys.platform == "darwin":
        command = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


SYSTEM_CLOCK = SystemClock()
