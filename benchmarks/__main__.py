"""`make bench`: measure, print the tables with the ratios, write benchmarks/results.json; exit 1 if a bar is missed.

    python -m benchmarks [sqlite] [redis] [sqs] [azure] [timing] [simulate] [--quick]

Without a name, every part. Ratios are taken within one run, from interleaved rounds. `--quick` leaves out the backlog
of a million and what takes minutes.
"""

import sys
from collections.abc import Callable

from rich.console import Console

from benchmarks.table import Table


def _sqlite(table: Table, console: Console, *, quick: bool) -> None:
    from benchmarks.sqlite_part.claims import measure  # noqa: PLC0415 - only what is asked for is needed

    measure(table, console, quick=quick)


def _redis(table: Table, console: Console, *, quick: bool) -> None:
    from benchmarks.redis_part.claims import measure  # noqa: PLC0415 - likewise

    measure(table, console, quick=quick)


def _sqs(table: Table, console: Console, *, quick: bool) -> None:
    from benchmarks.sqs_part.claims import measure  # noqa: PLC0415 - likewise

    measure(table, console, quick=quick)


def _azure(table: Table, console: Console, *, quick: bool) -> None:
    from benchmarks.azure_part.claims import measure  # noqa: PLC0415 - likewise

    measure(table, console, quick=quick)


def _timing(table: Table, console: Console, *, quick: bool) -> None:
    from benchmarks.timing_part.claims import measure  # noqa: PLC0415 - likewise

    measure(table, console, quick=quick)


def _simulate(table: Table, console: Console, *, quick: bool) -> None:
    from benchmarks.simulate_part.claims import measure  # noqa: PLC0415 - likewise

    measure(table, console, quick=quick)


PARTS: dict[str, Callable[..., None]] = {
    "sqlite": _sqlite, "redis": _redis, "sqs": _sqs, "azure": _azure, "timing": _timing, "simulate": _simulate,
}  # fmt: skip


def main() -> None:
    """Measure what was asked for."""
    words = sys.argv[1:]
    strange = [word for word in words if word not in (*PARTS, "--quick")]
    if strange:
        sys.exit(f"there is no part {strange[0]!r}; there are {', '.join(PARTS)}, and --quick")
    console = Console()
    holds = True
    for part, run in PARTS.items():
        if part in words or not set(words) & set(PARTS):
            table = Table(part)
            run(table, console, quick="--quick" in words)
            table.print(console)
            table.write()
            holds = holds and table.holds
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
