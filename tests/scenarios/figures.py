"""Figures of a soak: each scenario adds a line to a file, and `soak.py` adds them up."""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec


class Figures(msgspec.Struct, kw_only=True):
    """What happened, in numbers."""

    scenarios: int = 1
    messages: int = 0
    kills: int = 0
    lost: int = 0
    twice: int = 0
    late: int = 0
    overlaps: int = 0
    slowest_return: float = 0.0
    #: Those that fired; each is explained by a fault of its scenario.
    alerts: list[str] = []

    def append_to(self, file: Path) -> None:
        """Add a line."""
        with file.open("ab") as lines:
            lines.write(msgspec.json.encode(self) + b"\n")

    @classmethod
    def read(cls, file: Path) -> Iterable[Self]:
        """Every line."""
        return map(msgspec.json.Decoder(cls).decode, file.read_bytes().splitlines())

    def __str__(self) -> str:
        """For people."""
        return (
            f"{self.scenarios} scenarios, {self.messages:,} messages, {self.kills} kills: {self.lost} lost, "
            f"{self.twice} effects twice, {self.late} late settles, {self.overlaps} overlaps; "
            f"slowest return {self.slowest_return:.2f} s; alerts: {', '.join(self.alerts) or 'none'}"
        )


def total(lines: Iterable[Figures]) -> Figures:
    """All of them together."""
    sums = Figures(scenarios=0)
    for one in lines:
        for name in ("scenarios", "messages", "kills", "lost", "twice", "late", "overlaps"):
            setattr(sums, name, getattr(sums, name) + getattr(one, name))
        sums.alerts = sorted({*sums.alerts, *one.alerts})
        sums.slowest_return = max(sums.slowest_return, one.slowest_return)
    return sums
