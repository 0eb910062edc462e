"""Ends a process together with the process that started it."""

import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Be killed when the parent's thread that started us ends, and check that this has not happened yet."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only Linux has the call

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
