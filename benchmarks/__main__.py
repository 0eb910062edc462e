"""`make bench`: measure, print the tables with the ratios, write benchmarks/results.json; exit 1 if a bar is missed.

    python -m benchmarks [sqlite] [redis] [sqs] [azure] [server] [timing] [simulate] [audit] [--quick]

Without a name, every part. Ratios are taken within one run, from interleaved rounds. `--quick` leaves out the backlog
of a million and what takes minutes. A part is the folder of its name: `sqs_part/claims.py` measures it.
"""

import importlib
import sys

from rich.console import Console

from benchmarks.table import PARTS, Table


def main() -> None:
    """Measure what was asked for."""
    words = sys.argv[1:]
    strange = [word for word in words if word not in (*PARTS, "--quick")]
    if strange:
        sys.exit(f"there is no part {strange[0]!r}; there are {', '.join(PARTS)}, and --quick")
    console = Console()
    holds = True
    for part in [part for part in PARTS if part in words] or PARTS:
        table = Table(part)
        # Only what is asked for is imported: each part needs packages of its own.
        claims = importlib.import_module(f"benchmarks.{part}_part.claims")
        claims.measure(table, console, quick="--quick" in words)
        table.print(console)
        table.write()
        holds = holds and table.holds
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
