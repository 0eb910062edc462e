"""`tenure timing list`, or `tenure timing` for short: one row for each queue and task, and the findings below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
import msgspec

from tenure.app import Tenure
from tenure.cli.completing import complete_queue
from tenure.cli.duration import Duration, exact, spoken, stated
from tenure.cli.output import console, count, keep_figures, plain_table, plural, say_json
from tenure.cli.plain import one_line
from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.timing.looking import Look, Row, beats_of, look
from tenure.client.operations.naming import check_known, full_name
from tenure.finding import Finding, Severity
from tenure.timing.advice import USE_HIGH, subject
from tenure.timing.figures import RUNS_FOR_Q95, RUNS_FOR_Q99, Standing
from tenure.timing.wording import percent

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

#: From so many columns on every figure has a column of its own.
_WIDE = 118
_STYLES = {Severity.CRITICAL: "bold red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_COLUMNS = ("runs", "typical", "q95", "q99", "lease", "use", "if fixed", "1st beat", "max_hold", "r/e/c")
_FEW_RUNS = "*: the longest run; there are too few runs for the quantile (q95: 20, q99: 100)"
_TOO_SHORT = f"!: q99 uses {100 * USE_HIGH:.0f} % or more of the lease"
#: Of findings alike that matter little, so many are told one by one.
_FEW = 3
_EXPLAINED = "if fixed: the lease without a heartbeat; max_hold: advised; r/e/c: came again by retry, expiry, crash"


@click.command("list", short_help="Show how long tasks take, how leases fit, and what to do.")
@target_argument
@click.option("--queue", "-q", shell_complete=complete_queue, help="Of this queue only.")
@click.option("--since", type=Duration(1.0), default="24h", show_default=True, help="By the events of so long.")
@json_option
def list_(target: str | None, queue: str | None, since: float, *, as_json: bool) -> None:
    """Show how long tasks take, how leases fit, and what to do.

    For each queue and task: completed runs, what they took (half of them, 95 and 99 of 100), the lease, the part of it
    that is used, the lease that would do without a heartbeat, when a run is first renewed, the max_hold that is
    advised, and how often messages came again: by a retry, because a lease ended (expiry), or because a worker died
    (crash). A dash means that it cannot be known; with a URL the policy is not.
    """
    app = find(target)
    seen = run(app, lambda app: _look(app, since, queue))
    if as_json:
        say_json(document(seen))
    else:
        tell(console(), seen, since)


async def _look(app: Tenure, since: float, queue: str | None) -> Look:
    name = None if queue is None else full_name(app.operate.access, queue)
    if name is not None:
        await check_known(app.operate.access, [name])
    return await look(app, since_seconds=since, queue=name)


# -- for programs ----------------------------------------------------------------------------------


def document(seen: Look) -> dict[str, Any]:
    """For `--json`. Seconds everywhere, rates from 0 to 1; null is "cannot be known"."""
    survey = seen.survey
    return {
        "since": survey.since,
        "events": survey.events,
        "cut": survey.is_cut,
        "tasks": [_task(row) for row in seen.rows],
        "unknown": {"expiry": survey.unknown_expired, "crash": survey.unknown_crashed},
        "findings": seen.findings,
    }


def _task(row: Row) -> dict[str, Any]:
    figures, standing = row.figures, row.figures.standing
    return {
        "queue": figures.queue,
        "task": figures.task,
        "durations": figures.durations,
        "lease_seconds": None if standing is None or standing.is_by_size else standing.lease_seconds,
        "renewed": None if standing is None else standing.is_renewed,
        "learned": None if standing is None else standing.is_learned,
        "by_size": None if standing is None else standing.is_by_size,
        "max_hold_seconds": None if standing is None else standing.max_hold_seconds,
        "use": figures.lease_use,
        "forecast": {key: value for key, value in msgspec.to_builtins(row.forecast).items() if key != "steps"},
        "first_beat_seconds": row.first_beat_seconds,
        "beats_at_q99": beats_of(standing, row.forecast),
        "completed": figures.completed,
        "dead": figures.dead,
        "duplicates": figures.duplicates,
        "duplicate_rate": figures.duplicate_rate,
        "deletes": figures.deletes,
        "deletes_failed": figures.deletes_failed,
        "deletion_failure_rate": figures.deletion_failure_rate,
        "overran": figures.overran,
        "redelivered": {"retry": figures.retried, "expiry": figures.expired, "crash": figures.crashed},
    }


# -- for people ------------------------------------------------------------------------------------


def tell(out: "Console", seen: Look, since_seconds: float) -> None:
    """The table, what could not be known, and the findings."""
    if not seen.rows:
        out.print(f"No task has run here in the last {spoken(since_seconds)}.")
        return
    out.print(table(seen.rows, out.width))
    out.print(_EXPLAINED, style="dim", markup=False)
    for note in _notes(seen.rows):
        out.print(note, style="dim", markup=False, soft_wrap=not out.is_terminal)
    survey = seen.survey
    if survey.is_cut:
        out.print(f"The newest {plural(survey.events, 'event')} of the last {spoken(since_seconds)}.", style="dim")
    unknown = survey.unknown_expired + survey.unknown_crashed
    if unknown:
        out.print(f"{plural(unknown, 'message')} came back of which nobody knows the task any more.", style="dim")
    if all(row.figures.standing is None for row in seen.rows):
        out.print("The policy is not known from a URL: name the app (jobs:app) to compare it.", style="dim")
    loud = [one for one in seen.findings if one.severity is not Severity.INFO]
    for finding in [*loud, *_gathered([one for one in seen.findings if one.severity is Severity.INFO])]:
        out.print()
        out.print(told(finding))


def _notes(rows: Sequence[Row]) -> list[str]:
    """What the marks in the table mean, where there are some; and which rows follow a profile."""
    took = [row.figures.durations for row in rows if row.figures.durations is not None]
    notes = [_FEW_RUNS] if any(one.samples < RUNS_FOR_Q99 for one in took) else []
    if any(_is_too_short(row) for row in rows):
        notes.append(_TOO_SHORT)
    believed = [row for row in rows if row.profile is not None]
    notes += [
        f"{one_line(subject(row.figures))}: by its profile {row.profile}"
        f"{' and the size of each message' if row.forecast.typical_seconds is None else ''}, until a run is measured"
        for row in believed[:_FEW]
    ]
    if len(believed) > _FEW:
        notes.append(f"and {plural(len(believed) - _FEW, 'more task')} by their profiles")
    return notes


def _is_too_short(row: Row) -> bool:
    use = row.figures.lease_use
    return use is not None and use >= USE_HIGH


def _gathered(findings: Sequence[Finding]) -> list[Finding]:
    """What matters little and is true of many tasks is told once; `--json` has all of it."""
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
    """One finding: how much it matters, what it is about, the evidence, what to do."""
    from rich.text import Text

    from tenure.cli.screen import Rows

    grid = Rows.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, min_width=len(Severity.CRITICAL))
    grid.add_column()
    head = Text.assemble((finding.id, "bold"), one_line(f"  {finding.subject}"))
    grid.add_row(Text(finding.severity, style=_STYLES[finding.severity]), head)
    grid.add_row("", Text(one_line(finding.evidence)))
    grid.add_row("", Text(one_line(f"→ {finding.remedy}"), style="dim" if finding.severity is Severity.INFO else ""))
    return grid


def table(rows: Sequence[Row], width: int) -> "Table":
    """One row a task; where the terminal is narrow, on two lines."""
    return _wide(rows, width) if width >= _WIDE else _narrow(rows, width)


def _wide(rows: Sequence[Row], width: int) -> "Table":
    shown = plain_table("task", "queue", *_COLUMNS, right=_COLUMNS)
    for row in rows:
        figures = row.figures
        shown.add_row(
            figures.task, figures.queue, count(figures.completed),
            *_quantiles(row),
            _lease(figures.standing), _use(row), stated(row.forecast.lease_seconds),
            _stated(row.first_beat_seconds), _stated(row.figures.advised_hold_seconds), _again(row),
        )  # fmt: skip
    keep_figures(shown, width, names=2)
    return shown


def _narrow(rows: Sequence[Row], width: int) -> "Table":
    from tenure.cli.screen import stacked

    right = ("runs", "typical\nq99", "lease\nuse", "if fixed\nmax_hold", "1st beat\nr/e/c")
    shown = plain_table("task\nqueue", *right, right=right)
    for row in rows:
        figures, (q50, _, q99) = row.figures, _quantiles(row)
        shown.add_row(
            stacked(figures.task, figures.queue), count(figures.completed), stacked(q50, q99),
            stacked(_lease(figures.standing), _use(row)),
            stacked(stated(row.forecast.lease_seconds), _stated(row.figures.advised_hold_seconds)),
            stacked(_stated(row.first_beat_seconds), _again(row)),
        )  # fmt: skip
    keep_figures(shown, width)
    return shown


def _quantiles(row: Row) -> tuple[str, str, str]:
    """Half, 95 and 99 of 100; marked where there are too few runs for that, and it is the longest of them."""
    took = row.figures.durations
    if took is None:
        return "–", "–", "–"
    q95_mark, q99_mark = ("*" if took.samples < least else "" for least in (RUNS_FOR_Q95, RUNS_FOR_Q99))
    return exact(took.q50), f"{exact(took.q95)}{q95_mark}", f"{exact(took.q99)}{q99_mark}"


def _lease(standing: Standing | None) -> str:
    if standing is None:
        return "–"
    return "by size" if standing.is_by_size else stated(standing.lease_seconds)


def _use(row: Row) -> str:
    """Of a lease that somebody renews the use tells nothing."""
    standing, use = row.figures.standing, row.figures.lease_use
    if standing is not None and standing.is_renewed:
        return "renewed"
    return "–" if use is None else f"{percent(use)}{' !' if _is_too_short(row) else ''}"


def _stated(seconds: float | None) -> str:
    return "–" if seconds is None else stated(seconds)


def _again(row: Row) -> str:
    figures = row.figures
    return f"{figures.retried}/{count(figures.expired)}/{count(figures.crashed)}"
