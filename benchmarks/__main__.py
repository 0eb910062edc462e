"""`make bench`: measure, print the table with the ratios, write benchmarks/results.json.

Ratios are taken within one run, from the medians of interleaved repetitions. `--quick` leaves out the
backlog of a million.
"""

import json
import platform
import sys
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks import measure

REPEATS = 5
COUNT = 20_000
LARGE = 1_000_000
RESULTS = Path(__file__).parent / "results.json"

Row = tuple[str, float, str, float, bool]


def main() -> None:
    """Measure everything; exit 1 if a bar is missed."""
    quick = "--quick" in sys.argv[1:]
    console = Console()
    rows: list[Row] = []
    figures: dict[str, float] = {}
    with console.status("bare loop and worker, interleaved…"):
        bare, drained = [], []
        for _ in range(REPEATS):
            bare.append(measure.bare_loop(COUNT))
            drained.append(measure.drain(COUNT))
    cycle = median(run["cycle"] for run in bare)
    rate = median(run["rate"] for run in drained)
    send = median(run["send_rate"] for run in drained)
    figures |= {f"bare_{part}_per_second": median(run[part] for run in bare) for part in ("send", "drain", "cycle")}
    figures |= {"drain_per_second": rate, "send_per_second": send}
    rows += [
        ("no-op drain / bare cycle", rate / cycle, "≥", 0.25, True),
        ("no-op drain / bare drain", rate / figures["bare_drain_per_second"], "", 0.0, False),
        ("submit_many / bare cycle", send / cycle, "≥", 0.40, True),
        ("submit_many / bare send", send / figures["bare_send_per_second"], "", 0.0, False),
        ("worker CPU a message, µs", median(run["cpu_us"] for run in drained), "≤", 60.0, True),
    ]
    with console.status("one submit against one raw send…"):
        single = [measure.submitting(1000) for _ in range(REPEATS)]
    figures |= {f"one_{name}": median(run[name] for run in single) for name in ("submit_us", "send_us")}
    rows.append(
        ("submit of one / raw send of one", median(r["submit_us"] / r["send_us"] for r in single), "≤", 1.15, True)
    )
    with console.status("200,000 messages: memory…"):
        long = measure.drain(200_000)
    rows += [
        ("worker RSS after 100,000, MB", long["rss_early_mb"], "≤", 70.0, True),
        ("RSS growth over 100,000 more, MB", long["rss_mb"] - long["rss_early_mb"], "≤", 2.0, True),
    ]
    with console.status("latency and idle…"):
        late = measure.latency(20)
        idle = measure.idle(10)
    rows += [
        ("submit to handler, p50 ms", late["p50_ms"], "≤", 10.0, True),
        ("submit to handler, p99 ms", late["p99_ms"], "≤", 50.0, True),
        ("idle worker, % of a core", idle * 100, "≤", 2.0, True),
        ("tenure --help, CPU s", median(measure.help_cpu() for _ in range(5)), "≤", 0.3, True),
    ]
    if not quick:
        with console.status("backlog of a million…"):
            large = measure.backlog(LARGE)
        rows += [
            ("drain of 1,000,000 / of 20,000", large["rate"] / rate, "≥", 0.80, True),
            ("depth on 1,000,000, ms", large["depth_ms"], "≤", 100.0, True),
            ("`tenure queues` on it, whole command, ms", large["cli_ms"], "", 0.0, False),
        ]
    _print(console, rows, figures)
    _write(rows, figures)
    if any(bar and not _holds(value, sign, limit) for _, value, sign, limit, bar in rows):
        sys.exit(1)


def _holds(value: float, sign: str, limit: float) -> bool:
    return value >= limit if sign == "≥" else value <= limit


def _print(console: Console, rows: list[Row], figures: dict[str, float]) -> None:
    table = Table("measure", "value", "bar", "")
    for name, value, sign, limit, bar in rows:
        verdict = "" if not bar else "ok" if _holds(value, sign, limit) else "MISSED"
        figure = f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
        table.add_row(name, figure, f"{sign} {limit:g}" if bar else "", verdict)
    console.print(table)
    for name, value in figures.items():
        console.print(f"{name}: {value:,.0f}")


def _write(rows: list[Row], figures: dict[str, float]) -> None:
    rows_out = [
        {"measure": name, "value": value, "bar": f"{sign} {limit:g}" if bar else None,
         "holds": _holds(value, sign, limit) if bar else None}
        for name, value, sign, limit, bar in rows
    ]  # fmt: skip
    document = {"python": platform.python_version(), "rows": rows_out, "figures": figures}
    RESULTS.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
