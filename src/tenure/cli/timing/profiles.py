"""`tenure timing profiles`: what services are believed to take before anybody measured them, and the lease for it."""

from typing import TYPE_CHECKING

import click
import msgspec

from tenure.cli.output import console, plain_table, say_json
from tenure.cli.target import json_option
from tenure.timing.margin import utilization
from tenure.timing.profile import PROFILES, SIZE_TABLES
from tenure.timing.usage import usage_of
from tenure.timing.why import amount, duration

if TYPE_CHECKING:
    from rich.table import Table

_FIGURES = ("p1", "typical", "p95", "worst", "lease", "use", "margin")
_SIZES = ("takes", "lease", "use", "margin")


class Believed(msgspec.Struct, frozen=True):
    """One service: seconds, and the part of the lease that a typical run uses."""

    service: str
    p1: float
    typical: float
    p95: float
    worst: float
    lease_seconds: float
    use: float
    #: From the end of a typical run to the end of its lease.
    safety_margin_seconds: float


class BelievedSize(msgspec.Struct, frozen=True):
    """One row of a size table."""

    table: str
    size_bytes: float
    seconds: float
    lease_seconds: float
    use: float
    safety_margin_seconds: float


def believed() -> list[Believed]:
    """Every profile that ships, with the lease that the formula makes of it."""
    found = []
    for name, profile in PROFILES.items():
        usage = usage_of(profile.typical)
        found.append(
            Believed(name, profile.p1, profile.typical, profile.p95, profile.worst, usage.lease_seconds,
                     usage.utilization_percent / 100.0, usage.safety_margin_seconds)
        )  # fmt: skip
    return found


def believed_sizes() -> list[BelievedSize]:
    """Every row of every size table that ships."""
    return [
        BelievedSize(name, row.size_bytes, row.seconds, row.lease_seconds,
                     utilization(row.lease_seconds, row.seconds), row.lease_seconds - row.seconds)
        for name, table in SIZE_TABLES.items()
        for row in table.rows
    ]  # fmt: skip


@click.command(short_help="Show what is believed of services beforehand.")
@json_option
def profiles(*, as_json: bool) -> None:
    """Show what is believed of services beforehand.

    The lease is for a message that nobody renews: the typical time × 1.75, rounded up to the next 30 s. "use" is the
    part of it that a typical run takes, "margin" what is left after it. A run that was measured counts more than a
    profile. For files there are tables by size.
    """
    services, sizes = believed(), believed_sizes()
    if as_json:
        say_json({"profiles": services, "sizes": sizes})
        return
    out = console()
    out.print(_services(services))
    out.print()
    out.print(_sizes(sizes))


def _services(services: list[Believed]) -> "Table":
    shown = plain_table("service", *_FIGURES, right=_FIGURES)
    for one in services:
        seconds = (one.p1, one.typical, one.p95, one.worst, one.lease_seconds)
        shown.add_row(
            one.service, *map(duration, seconds), f"{one.use:.0%}", duration(one.safety_margin_seconds)
        )  # fmt: skip
    return shown


def _sizes(sizes: list[BelievedSize]) -> "Table":
    shown = plain_table("by size", "size", *_SIZES, right=("size", *_SIZES))
    for one in sizes:
        shown.add_row(
            one.table, amount(one.size_bytes), duration(one.seconds), duration(one.lease_seconds), f"{one.use:.0%}",
            duration(one.safety_margin_seconds),
        )  # fmt: skip
    return shown
