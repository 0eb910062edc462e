"""A probe for tests: processes that run until a test ends them."""

from itertools import count

from tenure.probe import ProcessId, ProcessLook


class VirtualProbe:
    """One machine, one namespace, and a new process for each caller."""

    def __init__(self, boot_id: str = "virtual", pid_namespace: str = "pid:[virtual]") -> None:
        """Every process that was ever asked for runs."""
        self.boot_id = boot_id
        self.pid_namespace = pid_namespace
        self._pids = count(1001)
        self._ended: set[int] = set()

    def me(self) -> ProcessId:
        """A process of its own for each who asks: in a test all workers share one."""
        pid = next(self._pids)
        return ProcessId(self.boot_id, self.pid_namespace, pid, _start(pid))

    def look(self, pid: int) -> ProcessLook:
        """Whether a test has ended it."""
        return ProcessLook(exists=pid not in self._ended, start=_start(pid))

    def end(self, pid: int) -> None:
        """Declare that this process has ended."""
        self._ended.add(pid)


def _start(pid: int) -> str:
    return f"start of {pid}"
