"""`tenure timing profiles`: how long services are expected to take before a run was measured, and the lease for it."""

from typing import TYPE_CHECKING

import click
import msgspec

from tenure.cli.target import json_option
from tenure.cli.terminal.output import console, plain_table, say_json
from tenure.timing.advice import USE_HIGH
from tenure.timing.forecast import forecasts
from tenure.timing.margin import utilization
from tenure.timing.prior import Prior, prior_for
from tenure.timing.profile import PROFILES, SIZE_TABLES
from tenure.timing.usage import usage_of
from tenure.timing.why import amount, duration

if TYPE_CHECKING:
    from rich.table import Table

_FIGURES = ("p1", "typical", "p95", "worst", "lease", "timeout", "use", "margin")
_SIZES = ("takes", "lease", "timeout", "use", "margin")
_NOTES = f"""\
A profile applies to a task that has its name or says profile=NAME. It counts less with each run that is measured, and \
not at all from 100 runs on.
lease: what a task with this profile asks for before its first run, if it has heartbeat=False: typical × 2 × 1.75, as \
`tenure timing explain` shows. With the heartbeat on, which is the default, the lease is 30 s.
timeout: for a loop of your own (tenure.standalone): typical × 1.75, rounded up to 30 s; by size, the table's own. \
use: the part of it that a typical run takes; margin: what is left after it.
!: {100 * USE_HIGH:.0f} % or more of it is used: renew that timeout by a heartbeat."""


class Believed(msgspec.Struct, frozen=True):
    """One service, in seconds."""

    service: str
    p1: float
    typical: float
    p95: float
    worst: float
    #: The first lease of a task without a heartbeat, as `tenure timing explain` shows it.
    lease_seconds: float
    #: What `calculate_visibility_timeout` makes of it.
    timeout_seconds: float
    #: The part of the timeout that a typical run takes.
    use: float
    #: From the end of a typical run to the end of the timeout.
    safety_margin_seconds: float
    #: Whether the use is 80 % or more.
    too_short: bool


class BelievedSize(msgspec.Struct, frozen=True):
    """One row of a size table."""

    table: str
    size_bytes: float
    seconds: float
    lease_seconds: float
    timeout_seconds: float
    use: float
    safety_margin_seconds: float
    too_short: bool


def first_lease(prior: Prior, size: float | None = None) -> float:
    """The lease before the first run, without a heartbeat: computed as in `tenure timing explain`."""
    (forecast,) = forecasts([], prior=prior, size=size)
    return forecast.lease_seconds


def believed() -> list[Believed]:
    """List the profiles that ship, with the leases that are made of them."""
    found = []
    for name, profile in PROFILES.items():
        usage = usage_of(profile.typical)
        use = usage.utilization_percent / 100.0
        found.append(
            Believed(name, profile.p1, profile.typical, profile.p95, profile.worst, first_lease(prior_for(name, name)),
                     usage.lease_seconds, use, usage.safety_margin_seconds, use >= USE_HIGH)
        )  # fmt: skip
    return found


def believed_sizes() -> list[BelievedSize]:
    """List the rows of every size table that ships."""
    found = []
    for name, table in SIZE_TABLES.items():
        for row in table.rows:
            use = utilization(row.lease_seconds, row.seconds)
            lease = first_lease(prior_for(name, name), row.size_bytes)
            found.append(
                BelievedSize(
                    name,
                    row.size_bytes,
                    row.seconds,
                    lease,
                    row.lease_seconds,
                    use,
                    row.lease_seconds - row.seconds,
                    use >= USE_HIGH,
                )
            )
    return found


@click.command(short_help="Show how long services are expected to take.")
@json_option
def profiles(*, as_json: bool) -> None:
    """Show how long services are expected to take before a run was measured.

    A profile that ships applies to a task that has its name or says profile=NAME. "lease" is what such a task asks for
    before its first run if its lease is not renewed (heartbeat=False), as `tenure timing explain` shows it. "timeout"
    is the fixed one for a loop of your own: the typical time × 1.75, rounded up to the next 30 s. "use" is the part
    of it that a typical run takes, "margin" what is left after it. For files there are tables by size.
    """
    services, sizes = believed(), believed_sizes()
    if as_json:
        say_json({"profiles": services, "sizes": sizes})
        return
    out = console()
    out.print(_services(services))
    out.print()
    out.print(_sizes(sizes))
    out.print()
    for note in _NOTES.splitlines():
        out.print(note, style="dim", markup=False, soft_wrap=not out.is_terminal)


def _services(services: list[Believed]) -> "Table":
    shown = plain_table("service", *_FIGURES, right=_FIGURES)
    for one in services:
        seconds = (one.p1, one.typical, one.p95, one.worst, one.lease_seconds, one.timeout_seconds)
        shown.add_row(
            one.service, *map(duration, seconds), f"{100 * one.use:.0f} %", duration(one.safety_margin_seconds)
        )
    return shown


def _sizes(sizes: list[BelievedSize]) -> "Table":
    shown = plain_table("by size", "size", *_SIZES, right=("size", *_SIZES))
    for one in sizes:
        use = f"{100 * one.use:.0f} % {'!' if one.too_short else ' '}"
        shown.add_row(
            one.table,
            amount(one.size_bytes),
            duration(one.seconds),
            duration(one.lease_seconds),
            duration(one.timeout_seconds),
            use,
            duration(one.safety_margin_seconds),
        )
    return shown
