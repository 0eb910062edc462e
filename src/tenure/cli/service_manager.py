"""The service manager that started this process: systemd, or another that speaks its notify protocol.

With `Type=notify` it gives a socket in NOTIFY_SOCKET, and waits for READY=1 before it counts the unit as started. With
`WatchdogSec=` it also wants a sign of life, WATCHDOG=1, and kills the process when none comes. The sign is sent only
after both loops of the worker have answered, so a process that hangs is not taken for a live one.

Used by `tenure worker`, its supervisor, and `tenure serve`.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Self

logger = logging.getLogger("tenure.cli")

#: Signs of life within one period of the watchdog. systemd asks for two; one may be late.
_SIGNS = 3


class ServiceManager:
    """Tells it how the process is. Without a service manager every call does nothing."""

    def __init__(self, address: str, watchdog_seconds: float | None) -> None:
        """`address`: of its socket, empty if there is none. `watchdog_seconds`: it wants a sign of life so often."""
        self._address = f"\0{address[1:]}" if address.startswith("@") else address
        self.watchdog_seconds = watchdog_seconds if address else None

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> Self:
        """Take what the service manager gave, out of the environment: no child of ours may speak for us."""
        address = environment.pop("NOTIFY_SOCKET", "")
        period, pid = environment.pop("WATCHDOG_USEC", ""), environment.pop("WATCHDOG_PID", "")
        is_ours = period.isdecimal() and pid in ("", str(os.getpid()))
        return cls(address, int(period) / 1e6 if is_ours and int(period) else None)

    def ready(self, status: str) -> None:
        """It works from now on."""
        self._tell(f"READY=1\nSTATUS={status}")

    def status(self, status: str) -> None:
        """Say in a line what it does; `systemctl status` shows it."""
        self._tell(f"STATUS={status}")

    def stopping(self) -> None:
        """It was asked to stop, and lets handlers finish."""
        self._tell("STOPPING=1\nSTATUS=stopping")

    async def watch(self, moved: Callable[[], Awaitable[None]]) -> None:
        """Send a sign of life whenever `moved` has returned, until cancelled. Returns at once if none is wanted."""
        if self.watchdog_seconds is None:
            return
        while True:
            await moved()
            self._tell("WATCHDOG=1")
            await asyncio.sleep(self.watchdog_seconds / _SIGNS)

    def _tell(self, text: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as its:
                its.setblocking(False)  # noqa: FBT003 - the socket's own signature
                its.sendto(text.encode(), self._address)
        except OSError as error:
            # Work goes on: a worker that works is worth more than one whose manager knows it.
            logger.warning("the service manager was not told %r: %s", text.partition("\n")[0], error)
