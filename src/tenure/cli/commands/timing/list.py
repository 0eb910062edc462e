"""`tenure timing list`, or `tenure timing` for short: one row for each queue and task, and the findings below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click
import msgspec

from tenure.cli.completing import complete_queue
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import Duration, exact, spoken, stated
from tenure.cli.terminal.output import console, count, keep_figures, plain_table, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.task_timing import LeaseStatus, TaskTiming
from tenure.client.operations.timing import TimingReport
from tenure.finding import Finding, Severity
from tenure.timing.advice import USE_HIGH
from tenure.timing.figures import RUNS_FOR_Q95, RUNS_FOR_Q99
from tenure.timing.wording import percent

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

#: From this many columns on every figure has a column of its own.
_WIDE = 118
_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_COLUMNS = ("runs", "typical", "q95", "q99", "lease", "use", "if fixed", "1st beat", "max_hold", "r/e/c")
_FEW_RUNS = "*: the longest run; there are too few runs for the quantile (q95: 20, q99: 100)"
_TOO_SHORT = f"!: q99 uses {100 * USE_HIGH:.0f} % or more of the lease"
#: This many minor findings of one kind are shown one by one.
_FEW = 3
_EXPLAINED = "if fixed: the lease without a heartbeat; max_hold: advised; r/e/c: came again by retry, expiry, crash"


@click.command("list", short_help="Show how long tasks take, how leases fit, and what to do.")
@target_argument
@click.option("--queue", "-q", shell_complete=complete_queue, help="Of this queue only.")
@click.option("--since", type=Duration(1.0), default="24h", show_default=True, help="How far back to look at events.")
@json_option
def list_(target: str | None, queue: str | None, since: float, *, as_json: bool) -> None:
    """Show how long tasks take, how leases fit, and what to do.

    For each queue and task: completed runs, what they took (half of them, 95 and 99 of 100), the lease, the part of it
    that is used, the lease that would do without a heartbeat, when a run is first renewed, the max_hold that is
    advised, and how often messages came again: by a retry, because a lease ended (expiry), or because a worker died
    (crash). A dash means that it cannot be known; with a URL the policy is not.
    """
    app = find(target)
    seen = run(app, lambda app: app.operate.timing(queue, since_seconds=since))
    if as_json:
        say_json(seen)
    else:
        tell(console(), seen, since)


# -- for people ------------------------------------------------------------------------------------


def tell(out: "Console", seen: TimingReport, since_seconds: float) -> None:
    """The table, what could not be known, and the findings."""
    if not seen.tasks:
        out.print(f"No task has run here in the last {spoken(since_seconds)}.")
        return
    out.print(table(seen.tasks, out.width))
    out.print(_EXPLAINED, style="dim", markup=False)
    for note in _notes(seen.tasks):
        out.print(note, style="dim", markup=False, soft_wrap=not out.is_terminal)
    if seen.cut:
        out.print(f"The newest {plural(seen.events, 'event')} of the last {spoken(since_seconds)}.", style="dim")
    if seen.after is not None:
        out.print(f"The first {plural(len(seen.tasks), 'task')}; -q shows one queue.", style="dim")
    unknown = seen.unknown.expiry + seen.unknown.crash
    if unknown:
        out.print(f"{plural(unknown, 'message')} came back whose task is no longer known.", style="dim")
    if all(row.renewed is None for row in seen.tasks):
        out.print("The policy is not known from a URL: name the app (jobs:app) to compare it.", style="dim")
    loud = [one for one in seen.findings if one.severity is not Severity.INFO]
    for finding in [*loud, *_gathered([one for one in seen.findings if one.severity is Severity.INFO])]:
        out.print()
        out.print(told(finding))


def _notes(rows: Sequence[TaskTiming]) -> list[str]:
    """Explain the marks in the table, where there are some; and name the rows that follow a profile."""
    took = [row.durations for row in rows if row.durations is not None]
    notes = [_FEW_RUNS] if any(one.samples < RUNS_FOR_Q99 for one in took) else []
    if any(_is_too_short(row) for row in rows):
        notes.append(_TOO_SHORT)
    believed = [row for row in rows if row.profile is not None]
    notes += [
        f"{one_line(row.task)} on {one_line(row.queue)}: by its profile {row.profile}"
        f"{' and the size of each message' if row.forecast.typical_seconds is None else ''}, until a run is measured"
        for row in believed[:_FEW]
    ]
    if len(believed) > _FEW:
        notes.append(f"and {plural(len(believed) - _FEW, 'more task')} by their profiles")
    return notes


def _is_too_short(row: TaskTiming) -> bool:
    return row.status in (LeaseStatus.HIGH, LeaseStatus.CRITICAL)


def _gathered(findings: Sequence[Finding]) -> list[Finding]:
    """A minor finding that many tasks share is shown once; `--json` has all of them."""
    by_id: dict[str, list[Finding]] = {}
    for one in findings:
        by_id.setdefault(one.id, []).append(one)
    shown = []
    for alike in by_id.values():
        if len(alike) <= _FEW:
            shown += alike
            continue
        first = alike[0]
        subjects = ", ".join(one.subject for one in alike[:_FEW])
        about = f"{subjects} and {len(alike) - _FEW} more"
        shown.append(msgspec.structs.replace(first, subject=about, evidence=f"{first.subject}: {first.evidence}"))
    return shown


def told(finding: Finding) -> "RenderableType":
    """Draw one finding: how much it matters, what it is about, the evidence, what to do."""
    from rich.text import Text

    from tenure.cli.terminal.screen import OneLineTable

    grid = OneLineTable.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=len(Severity.CRITICAL))
    grid.add_column()
    head = Text.assemble((finding.id, "bold"), one_line(f"  {finding.subject}"))
    grid.add_row(Text(finding.severity, style=_STYLES[finding.severity]), head)
    grid.add_row("", Text(one_line(finding.evidence)))
    grid.add_row("", Text(one_line(f"→ {finding.remedy}"), style="dim" if finding.severity is Severity.INFO else ""))
    return grid


def table(rows: Sequence[TaskTiming], width: int) -> "Table":
    """Draw one row a task; where the terminal is narrow, on two lines."""
    return _wide(rows, width) if width >= _WIDE else _narrow(rows, width)


def _wide(rows: Sequence[TaskTiming], width: int) -> "Table":
    shown = plain_table("task", "queue", *_COLUMNS, right=_COLUMNS)
    for row in rows:
        shown.add_row(
            row.task,
            row.queue,
            count(row.completed),
            *_quantiles(row),
            _lease(row),
            _use(row),
            stated(row.forecast.lease_seconds),
            _stated(row.first_beat_seconds),
            _stated(row.advised_hold_seconds),
            _again(row),
        )
    keep_figures(shown, width, names=2)
    return shown


def _narrow(rows: Sequence[TaskTiming], width: int) -> "Table":
    from tenure.cli.terminal.screen import stacked

    right = ("runs", "typical\nq99", "lease\nuse", "if fixed\nmax_hold", "1st beat\nr/e/c")
    shown = plain_table("task\nqueue", *right, right=right)
    for row in rows:
        q50, _, q99 = _quantiles(row)
        shown.add_row(
            stacked(row.task, row.queue),
            count(row.completed),
            stacked(q50, q99),
            stacked(_lease(row), _use(row)),
            stacked(stated(row.forecast.lease_seconds), _stated(row.advised_hold_seconds)),
            stacked(_stated(row.first_beat_seconds), _again(row)),
        )
    keep_figures(shown, width)
    return shown


def _quantiles(row: TaskTiming) -> tuple[str, str, str]:
    """Half, 95 and 99 of 100; marked where there are too few runs for that, and it is the longest of them."""
    took = row.durations
    if took is None:
        return "–", "–", "–"
    q95_mark, q99_mark = ("*" if took.samples < least else "" for least in (RUNS_FOR_Q95, RUNS_FOR_Q99))
    return exact(took.q50), f"{exact(took.q95)}{q95_mark}", f"{exact(took.q99)}{q99_mark}"


def _lease(row: TaskTiming) -> str:
    if row.by_size:
        return "by size"
    return "–" if row.lease_seconds is None else stated(row.lease_seconds)


def _use(row: TaskTiming) -> str:
    """Format the used part of a lease; it says nothing of a lease that the heartbeat renews."""
    if row.renewed:
        return "renewed"
    return "–" if row.use is None else f"{percent(row.use)}{' !' if _is_too_short(row) else ''}"


def _stated(seconds: float | None) -> str:
    return "–" if seconds is None else stated(seconds)


def _again(row: TaskTiming) -> str:
    again = row.redelivered
    return f"{again.retry}/{count(again.expiry)}/{count(again.crash)}"
