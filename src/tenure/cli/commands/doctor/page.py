"""The doctor's page: what was looked at, by area; then each finding with its evidence and what to do.

What is well is dim: on a healthy set-up nothing draws the eye. The findings come last, because the end of a long page
is what stays on the screen.
"""

from itertools import groupby
from typing import TYPE_CHECKING

from tenure.cli.terminal.output import console, plural
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.doctor.diagnosis import Check, Diagnosis, Outcome
from tenure.finding import Finding, Severity

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_MARKS = {
    Outcome.WELL: ("✓", "green"),
    Outcome.INFO: ("·", "cyan"),
    Outcome.WARNING: ("!", "yellow"),
    Outcome.CRITICAL: ("✗", "red"),
    Outcome.UNKNOWN: ("?", "dim"),
    Outcome.FAILED: ("?", "red"),
}
_STYLES = {Severity.CRITICAL: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_MARGIN, _TITLE = 2, 21
#: Text is not set wider than this, however wide the terminal: long lines are hard to read.
_WIDEST = 110


def show(found: Diagnosis) -> None:
    """Print the page."""
    from rich.text import Text

    out = console()
    width = min(out.width, _WIDEST) if out.is_terminal else out.width
    out.print(Text.assemble(("Doctor", "bold"), "  ", (one_line(found.store), "dim")), soft_wrap=True)
    for area, checks in groupby(found.checks, key=lambda one: one.area):
        out.print()
        out.print(Text(area.value.capitalize(), style="bold"))
        for check in checks:
            _print_hanging(out, _head(check), _seen(check), width)
    for finding in found.findings:
        out.print()
        _print_finding(out, finding, width)
    out.print()
    out.print(_summary(found))


def _head(check: Check) -> "Text":
    from rich.text import Text

    mark, style = _MARKS[check.outcome]
    head = Text.assemble(" " * _MARGIN, (mark, style), " ", one_line(check.title))
    head.pad_right(max(1, _MARGIN + _TITLE + 2 - len(head)))
    return head


def _seen(check: Check) -> "Text":
    from rich.text import Text

    if check.outcome is Outcome.UNKNOWN:
        return Text(f"not known: {one_line(check.seen)}", style="dim")
    if check.outcome is Outcome.FAILED:
        return Text(f"could not be checked: {one_line(check.seen)}", style="red")
    return Text(one_line(check.seen), style="dim" if check.outcome is Outcome.WELL else "")


def _print_finding(out: "Console", one: Finding, width: int) -> None:
    from rich.text import Text

    head = Text.assemble(
        (one.severity.value, f"bold {_STYLES[one.severity]}"),
        "  ",
        (one.id, "bold"),
        "  ",
        (one_line(one.subject), "dim"),
    )
    out.print(head, soft_wrap=True)
    _print_hanging(out, Text(" " * _MARGIN), Text(one_line(one.evidence)), width)
    _print_hanging(out, Text.assemble(" " * _MARGIN, ("→", "bold"), " "), Text(one_line(one.remedy)), width)


def _print_hanging(out: "Console", head: "Text", body: "Text", width: int) -> None:
    """Print `body` behind `head`, its further lines below its first one."""
    lines = body.wrap(out, max(20, width - len(head)))
    for number, line in enumerate(lines):
        line.rstrip()
        out.print(head if number == 0 else " " * len(head), line, sep="", soft_wrap=True)


def _summary(found: Diagnosis) -> "Text":
    from rich.text import Text

    looked = len(found.checks)
    unknown = sum(one.outcome is Outcome.UNKNOWN for one in found.checks)
    failed = looked - sum(one.outcome is not Outcome.FAILED for one in found.checks)
    parts = [
        (_counted(number, severity), _STYLES[severity])
        for severity in (Severity.CRITICAL, Severity.WARNING, Severity.INFO)
        if (number := sum(one.severity is severity for one in found.findings))
    ]
    if failed:
        parts.append((f"{failed} could not be checked", "red"))
    if unknown:
        parts.append((f"{unknown} not known", "dim"))
    verdict = Text("All well", style="bold green") if found.healthy else Text("Not well", style="bold red")
    if not found.is_complete and not found.findings:
        verdict = Text("Could not look", style="bold red")
    line = Text.assemble(verdict, f": {plural(looked, 'check')}")
    for text, style in parts:
        line.append(", ").append(text, style=style)
    return line.append(".")


def _counted(number: int, severity: Severity) -> str:
    return plural(number, severity.value, "") if severity is Severity.WARNING else f"{number} {severity.value}"
