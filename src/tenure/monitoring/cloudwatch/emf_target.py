"""Where the lines of the embedded metric format go.

    stdout                         a container's log, which `awslogs` or Lambda brings to CloudWatch
    file:/var/log/tenure.emf       a file that an agent follows; lines are appended
    tcp://127.0.0.1:25888          the CloudWatch agent, which listens there as a rule

A target that is away loses the lines of that minute, and says so once: figures must not fill a memory.
"""

import logging
import os
import socket
import sys
from collections.abc import Sequence
from typing import Protocol
from urllib.parse import urlsplit

from tenure.errors import ConfigurationError

logger = logging.getLogger("tenure.metrics")

_AGENT_PORT = 25_888
_PATIENCE_SECONDS = 5.0


class EmfTarget(Protocol):
    """Takes lines. Blocking; called in a thread."""

    place: str

    def write(self, lines: Sequence[bytes]) -> None:
        """Write them. Raises `OSError`."""
        ...


class StreamTarget:
    """Standard output."""

    place = "standard output"

    def write(self, lines: Sequence[bytes]) -> None:
        """Write them, each in one piece."""
        sys.stdout.flush()
        for line in lines:
            os.write(sys.stdout.fileno(), line + b"\n")


class FileTarget:
    """A file."""

    def __init__(self, path: str) -> None:
        """Append to it; it is opened for each minute's lines, so that it may be rotated."""
        self.place = path

    def write(self, lines: Sequence[bytes]) -> None:
        """Append them."""
        with open(self.place, "ab") as file:  # noqa: PTH123 - one descriptor, one write
            file.write(b"".join(line + b"\n" for line in lines))


class AgentTarget:
    """The CloudWatch agent."""

    def __init__(self, host: str, port: int) -> None:
        """A connection for each minute's lines: agents close what is silent."""
        self._address = (host, port)
        self.place = f"the CloudWatch agent at {host}:{port}"

    def write(self, lines: Sequence[bytes]) -> None:
        """Send them."""
        with socket.create_connection(self._address, timeout=_PATIENCE_SECONDS) as connection:
            connection.sendall(b"".join(line + b"\n" for line in lines))


def emf_target(text: str) -> EmfTarget:
    """The target that `text` names. Raises `ConfigurationError`."""
    if text == "stdout":
        return StreamTarget()
    parts = urlsplit(text)
    if parts.scheme == "file" and parts.path and not parts.netloc:
        return FileTarget(parts.path)
    try:
        port = parts.port or _AGENT_PORT
    except ValueError:
        port = 0
    if parts.scheme == "tcp" and parts.hostname and port and not parts.path:
        return AgentTarget(parts.hostname, port)
    msg = f"{text!r} takes no metrics; write stdout, file:/path or tcp://127.0.0.1:25888. Nothing was started"
    raise ConfigurationError(msg)
