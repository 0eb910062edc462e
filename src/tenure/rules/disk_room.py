"""Whether a disk has room for what is kept on it. Pure.

A database on a full disk takes no message more, and a worker cannot settle what it ran. So little room is a finding
before it is gone. Used by the adapters that keep files.
"""

from tenure.finding import Finding, Severity

_MIB, _GIB = 1 << 20, 1 << 30
#: Below this much room the next hour is in danger, however large the disk.
CRITICAL_BYTES = 128 * _MIB
#: Below this part of the disk, and this much room, a person should look.
LOW_PART, LOW_BYTES = 0.05, 2 * _GIB
_PERCENT = 100


def find_low_room(subject: str, *, free: int, total: int) -> list[Finding]:
    """The finding about a disk with `free` of `total` bytes; none if there is enough."""
    is_critical = free < CRITICAL_BYTES
    if not is_critical and not (free < LOW_BYTES and free < LOW_PART * total):
        return []
    severity = Severity.CRITICAL if is_critical else Severity.WARNING
    evidence = f"{room(free, total)}; on a full disk nothing is sent and nothing settled"
    return [
        Finding("disk_space_low", severity, subject, evidence, "Make room on this disk, or move the file to another")
    ]


def room(free: int, total: int) -> str:
    """The room as people read it: `410 MiB of 252 GiB free (0.2 %)`."""
    part = _PERCENT * free / total if total else 0.0
    return f"{_size(free)} of {_size(total)} free ({part:.0f} %)"


def _size(number: int) -> str:
    if number >= _GIB:
        return f"{number / _GIB:,.0f} GiB"
    return f"{number / _MIB:,.0f} MiB"
