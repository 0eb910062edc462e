"""The probe: facts of the operating system about a process of this machine.

The only place that asks the system. Linux answers from `/proc`; macOS only says whether a pid exists.
`rules/presence.py` decides what the facts prove. Tests bring a probe of their own (`tenure.testing.probe`).
"""

import os
import sys
from pathlib import Path
from typing import Protocol

import msgspec

from tenure.clock import SYSTEM_CLOCK

#: Where processes cannot be told apart by namespaces, all are in this one.
_ONE_NAMESPACE = "pid:[]"
#: Places in `/proc/<pid>/stat`, counted from the word after the command's name, which is field 3.
_STATE, _PARENT, _THREADS, _START = 0, 1, 17, 19


class ProcessId(msgspec.Struct, frozen=True):
    """The identity of a process. Two are comparable if boot and namespace are the same and known."""

    boot_id: str
    #: Empty: it cannot be known, so nothing can be compared.
    pid_namespace: str
    pid: int
    #: Empty: it cannot be read.
    start: str


class ProcessLook(msgspec.Struct, frozen=True):
    """The process that has a pid now."""

    exists: bool
    #: Empty: it cannot be read.
    start: str = ""
    #: It has ended, and only waits for its parent to take note of that.
    is_zombie: bool = False
    #: It stands still because of a signal (SIGSTOP) or a debugger.
    is_stopped: bool = False
    #: The pid of its parent. 0: it cannot be read.
    parent: int = 0


class Probe(Protocol):
    """A look at processes."""

    def me(self) -> ProcessId:
        """The process that asks."""
        ...

    def look(self, pid: int) -> ProcessLook:
        """Look at the process `pid` in the namespace of this process. When in doubt, it exists."""
        ...


class SystemProbe:
    """The operating system."""

    def me(self) -> ProcessId:
        """Return the process that asks. Nothing is cached: after a fork all of it may be different."""
        look = self.look(os.getpid())
        return ProcessId(SYSTEM_CLOCK.boot_id(), _namespace(), os.getpid(), look.start)

    def look(self, pid: int) -> ProcessLook:
        """Ask the kernel."""
        if pid <= 0:
            return ProcessLook(exists=True)  # no process has such a pid, and `kill` would mean something else
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return ProcessLook(exists=False)
        except (PermissionError, OverflowError):
            return ProcessLook(exists=True)
        return _read_stat(pid)


def _read_stat(pid: int) -> ProcessLook:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        # The command's name may hold spaces and brackets; what follows the last one does not.
        words = text[text.rindex(")") + 1 :].split()
        # A main thread that has ended looks like a zombie while others of its process still run.
        is_zombie = words[_STATE] in "XxZ" and int(words[_THREADS]) <= 1
        return ProcessLook(
            exists=True,
            start=words[_START],
            is_zombie=is_zombie,
            is_stopped=words[_STATE] in "Tt",
            parent=int(words[_PARENT]),
        )
    except (OSError, ValueError, IndexError):
        return ProcessLook(exists=True)  # hidden, or ended just now: the next look will say so


def _namespace() -> str:
    """The namespaces in which a pid and a start time mean something. Empty: `/proc` is not that of our namespace."""
    if sys.platform == "darwin":
        return _ONE_NAMESPACE
    try:
        if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115 - the text, not the path
            return ""
        names = [os.readlink("/proc/self/ns/pid")]  # noqa: PTH115
    except OSError:
        return ""
    try:
        names.append(os.readlink("/proc/self/ns/time"))  # noqa: PTH115 - start times are relative to it
    except OSError:
        names.append("")  # older kernels have no time namespaces
    return " ".join(names).strip()


SYSTEM_PROBE = SystemProbe()


def cpu_seconds() -> float | None:
    """CPU time that this process has used, in user and kernel mode. None: the system does not say."""
    try:
        import resource  # noqa: PLC0415 - not on every system
    except ImportError:
        return None
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_bytes(pid: int) -> int | None:
    """How much memory a process of this machine takes now (RSS). None: the system does not say."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None
