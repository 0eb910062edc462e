"""Noise: how many cores others used while something was measured. Used by the parts, and told beside their figures.

Wall-clock figures of a machine that is busy with other things say little; whoever reads them should know.
"""

import os
import resource
import time
from collections.abc import Callable
from pathlib import Path

_STAT = Path("/proc/stat")


class Noise:
    """The machine since `Noise` was made."""

    def __init__(self, beside: Callable[[], float] = lambda: 0.0) -> None:
        """`beside`: CPU seconds of ours that are counted nowhere yet, as of a server that still runs."""
        self._beside = beside
        self._began = time.perf_counter()
        self._busy = _busy()
        self._own = _own() + beside()

    def cores(self) -> float | None:
        """Cores that others used, on average. None: this machine does not say."""
        busy = _busy()
        if busy is None or self._busy is None:
            return None
        seconds = time.perf_counter() - self._began
        return max(0.0, (busy - self._busy - (_own() + self._beside() - self._own)) / seconds)


def _busy() -> float | None:
    """CPU seconds of the whole machine."""
    if not _STAT.exists():
        return None
    user, nice, system, _, _, irq, softirq, steal = map(int, _STAT.read_text(encoding="ascii").split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    """Of this process and of its children that have ended."""
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)
