"""`make bench`: measure, print the tables with the ratios, write benchmarks/results.json; exit 1 if a bar is missed.

    python -m benchmarks [sqlite] [redis] [sqs] [azure] [server] [dashboard] [timing] [simulate] [audit] [webhooks]
                         [clients] [monitoring] [cost] [--quick]

Without a name, every part. Ratios are taken within one run, from interleaved rounds. `--quick` leaves out the backlog
of a million and what takes minutes. A part is the folder of its name: `sqs_part/claims.py` measures it.
A part that has `PIECES` can be measured in pieces: `server:send` or `server:look-redis server:drain`.
"""

import importlib
import sys

from rich.console import Console

from benchmarks.table import PARTS, Table


def main() -> None:
    """Measure what was asked for."""
    words = sys.argv[1:]
    asked: dict[str, list[str]] = {}
    for part, _, piece in (word.partition(":") for word in words if word != "--quick"):
        if part not in PARTS:
            sys.exit(f"there is no part {part!r}; there are {', '.join(PARTS)}, and --quick")
        asked.setdefault(part, []).extend([piece] if piece else [])
    console = Console()
    holds = True
    for part in [part for part in PARTS if part in asked] or PARTS:
        table = Table(part)
        # Only what is asked for is imported: each part needs packages of its own.
        claims = importlib.import_module(f"benchmarks.{part}_part.claims")
        pieces = asked.get(part, [])
        if strange := set(pieces) - set(getattr(claims, "PIECES", ())):
            known = ", ".join(getattr(claims, "PIECES", ())) or "none"
            sys.exit(f"part {part!r} has no piece {min(strange)!r}; it has {known}")
        only = {"pieces": pieces} if pieces else {}
        claims.measure(table, console, quick="--quick" in words, **only)
        table.print(console)
        table.write(keeps_others=bool(pieces))
        holds = holds and table.holds
    if not holds:
        sys.exit(1)


if __name__ == "__main__":
    main()
