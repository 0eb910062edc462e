"""`tenure audit`: find code that loses messages, runs them twice or holds them without need."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tenure.audit import RULES, Located, Operation, Report
from tenure.audit import audit as audit_paths
from tenure.audit.sarif import sarif
from tenure.cli.failing import DONE, TROUBLE
from tenure.cli.target import json_option
from tenure.cli.terminal.output import WIDE, console, plain_table, plural, say_json
from tenure.cli.terminal.plain import one_line
from tenure.finding import Severity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_STYLES = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_NEVER = "never"


def _rules(_ctx: click.Context, _parameter: click.Parameter, value: Sequence[str]) -> list[str]:
    """Ids of rules, repeated or with commas; a prefix selects all rules that begin with it."""
    words = [word.strip() for one in value for word in one.split(",") if word.strip()]
    strange = [word for word in words if not any(rule.startswith(word.upper()) for rule in RULES)]
    if strange:
        msg = f"there is no rule {strange[0]!r}; there are {', '.join(RULES)}"
        raise click.BadParameter(msg)
    return [rule for rule in RULES if rule.startswith(tuple(word.upper() for word in words))] if words else []


@click.command(short_help="Read source code for mistakes with queues; nothing is run.")
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(exists=True))
@click.option(
    "--format",
    "shape",
    type=click.Choice(["table", "json", "sarif"]),
    default="table",
    show_default=True,
    help="What to print.",
)
@click.option("--select", multiple=True, metavar="ID", callback=_rules, help="These rules only, as in TQ101,TQ2.")
@click.option("--ignore", multiple=True, metavar="ID", callback=_rules, help="Leave these rules out.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out files and folders; may be repeated.")
@click.option("--tests", is_flag=True, help="Also read test code: test_*.py, conftest.py and folders named tests.")
@click.option(
    "--fail-on",
    type=click.Choice([*(one.value for one in Severity), _NEVER]),
    default="warning",
    show_default=True,
    help="Exit with 1 from this severity on.",
)
@click.option("--baseline/--no-baseline", default=True, help="Also list every queue operation.")
@json_option
def audit(  # noqa: PLR0913 - one parameter an option
    *,
    paths: tuple[str, ...],
    shape: str,
    select: list[str],
    ignore: list[str],
    exclude: tuple[str, ...],
    tests: bool,
    fail_on: str,
    baseline: bool,
    as_json: bool,
) -> int:
    """Read Python source for mistakes with queues of SQS, Azure and Redis; nothing is run or imported.

    PATH is a file or a folder; of a folder every *.py is read, without hidden folders, environments, builds and tests.
    At the end stands the baseline: every receive, delete, extend and send with its timeout, and what to do instead.

    A line is left alone with the comment "# tenure: ignore[TQ101]". Exits with 1 if there is a finding at or above
    --fail-on, else with 0.
    """
    if not paths:
        raise click.UsageError("which code? Name files or folders: tenure audit src")
    wanted = [rule for rule in select or RULES if rule not in ignore]
    report = _watched(paths, wanted, exclude, tests=tests)
    shape = "json" if as_json else shape
    if shape == "json":
        say_json(_document(report, baseline=baseline))
    elif shape == "sarif":
        say_json(sarif(report, _version(), baseline=baseline))
    else:
        _print(console(), report, baseline=baseline)
    return TROUBLE if fail_on != _NEVER and report.has_from(Severity(fail_on)) else DONE


def _watched(paths: Sequence[str], rules: Sequence[str], exclude: Sequence[str], *, tests: bool) -> Report:
    """Audit, with a bar for people who look."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    screen = console(err=True)
    is_watched = sys.stderr.isatty()
    columns = (TextColumn("audit"), BarColumn(), MofNCompleteColumn(), TextColumn("files"))
    with Progress(*columns, console=screen, transient=True, disable=not is_watched) as progress:
        bar = progress.add_task("", total=None)
        return audit_paths(
            paths,
            rules=rules,
            exclude=exclude,
            tests=tests,
            on_file=lambda done, total: progress.update(bar, completed=done, total=total),
        )


def _version() -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tenure")
    except PackageNotFoundError:
        return None


def _document(report: Report, *, baseline: bool) -> dict[str, object]:
    import msgspec

    findings = [
        msgspec.structs.asdict(one.finding)
        | {name: value for name, value in msgspec.structs.asdict(one).items() if name != "finding"}
        for one in report.findings
    ]
    whole = msgspec.structs.asdict(report) | {"findings": findings}
    return {name: value for name, value in whole.items() if baseline or name != "operations"}


# -- for people ------------------------------------------------------------------------------------


def _print(out: "Console", report: Report, *, baseline: bool) -> None:
    if report.findings:
        out.print(_findings(report.findings, out.width))
        out.print()
        _print_rules(out, report.findings)
    if baseline and report.operations:
        out.print(_baseline(report.operations, out.width))
        out.print()
    out.print(_summary(report))


def _findings(findings: Sequence[Located], width: int) -> "Table":
    from rich.text import Text

    table = plain_table("severity", "rule", "where / what" if width < WIDE else "where", *_what(width))
    table.columns[-1].no_wrap = False
    table.columns[-1].overflow = "fold"
    for one in findings:
        style = _STYLES[one.finding.severity]
        cells = [Text(one_line(one.place)), Text(one_line(one.finding.evidence), style="" if width >= WIDE else "dim")]
        last = cells if width >= WIDE else [Text("\n").join(cells)]
        table.add_row(Text(one.finding.severity, style=style), one.finding.id, *last)
    return table


def _what(width: int) -> list[str]:
    return ["what"] if width >= WIDE else []


def _print_rules(out: "Console", findings: Sequence[Located]) -> None:
    """Each rule that was met, once: what it means, and what to do."""
    from rich.text import Text

    from tenure.cli.terminal.screen import OneLineTable

    met: dict[str, dict[str, None]] = {}  # the advice of each rule, made for the places where it was met
    for one in findings:
        met.setdefault(one.finding.id, {})[one.finding.remedy] = None
    grid = OneLineTable.grid(padding=(0, 1))
    for rule in (rule for rule in RULES.values() if rule.id in met):
        grid.add_row(Text(rule.id, style=_STYLES[rule.severity]), Text(f"{rule.title}."))
        grid.add_row("", Text(rule.why))
        for remedy in met[rule.id]:
            grid.add_row("", Text(remedy, style="bold"))
    out.print(grid)
    out.print()


def _baseline(rows: Sequence[Operation], width: int) -> "Table":
    from rich.text import Text

    is_wide = width >= WIDE
    columns = ("operation", "where", "timeout", "recommendation") if is_wide else ("operation / timeout", "where / do")
    table = plain_table(*columns)
    table.columns[-1].no_wrap = False
    table.columns[-1].overflow = "fold"
    for one in rows:
        operation = f"{one.kind} ({one.vendor})"
        place = one_line(f"{one.path}:{one.line}")
        timeout = one_line(one.timeout)
        if is_wide:
            table.add_row(operation, Text(place), Text(timeout), Text(one.recommendation))
        else:
            table.add_row(
                Text.assemble(operation, "\n", (timeout, "dim")),
                Text.assemble(place, "\n", (one.recommendation, "dim")),
            )
    return table


def _summary(report: Report) -> str:
    left_out = f" {plural(report.tests_left_out, 'test file')} left out (--tests)." if report.tests_left_out else ""
    if not report.files:
        return f"No Python file there: nothing was audited.{left_out}"
    counts = [f"{number} {severity}" for severity in reversed(Severity) if (number := report.count(severity))]
    found = f"{plural(len(report.findings), 'finding')} ({', '.join(counts)})" if counts else "No findings"
    ignored = f", {report.ignored} ignored by comments" if report.ignored else ""
    operations = plural(len(report.operations), "queue operation")
    return (
        f"{found}{ignored}; {operations} in {plural(report.files, 'file')}, {plural(report.lines, 'line')}.{left_out}"
    )
