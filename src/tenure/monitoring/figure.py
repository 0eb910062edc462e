"""Figures for systems outside: a name, a value and its labels, and the port of what takes them.

`tenure scaling --publish` sends the figures of each queue to a publisher that `assembly.py` makes from a URL. Adapters
implement the port: `adapters/aws/cloudwatch.py`.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec


class Figure(msgspec.Struct, frozen=True):
    """One value at one moment."""

    name: str
    value: float
    #: The unit as CloudWatch names it: `Count`, `Seconds`.
    unit: str
    labels: Mapping[str, str]


class FigurePublisher(Protocol):
    """Takes figures. Opened once before the first `publish`."""

    #: Where the figures go, for people.
    place: str

    async def open(self) -> None:
        """Connect."""
        ...

    async def publish(self, figures: Sequence[Figure], at: float) -> None:
        """Send figures of the moment `at`, in Unix seconds. Raises `BrokerError` if it cannot be done."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...
