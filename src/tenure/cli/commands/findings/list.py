"""`tenure findings list`."""

import sys
from typing import TYPE_CHECKING

import click

from tenure.cli.target import find, json_option, run, target_argument
from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.output import console, give_way, plain_table, say_json
from tenure.cli.terminal.plain import one_line

if TYPE_CHECKING:
    from rich.text import Text

    from tenure.client.operations.findings import FindingStatus

_STYLES = {"page": "red", "ticket": "yellow", "show": ""}


@click.command("list", short_help="Show what is wrong, the worst first.")
@target_argument
@click.option("--all", "everything", is_flag=True, help="Also what cleared within a day.")
@click.option("--check", is_flag=True, help="Exit with 1 if anything unseen fires, or if nothing judges.")
@json_option
def list_(target: str | None, *, everything: bool, check: bool, as_json: bool) -> None:
    """Show what is wrong, the worst first. Each finding has a runbook: what it means, and what to do.

    "page": act now. "ticket": within days. "show": worth seeing.
    """
    app = find(target)
    found = run(app, lambda app: app.operate.findings())
    if as_json:
        say_json(found)
    else:
        rows = [one for one in found.findings if one.firing or everything]
        if rows or found.is_judged:
            _show(rows, app.state.wall(), found.settling_until)
        if not found.is_judged:
            never = "Nothing has judged alerts here yet: a worker or tenure serve does, within a minute of its start."
            late = "Nothing judges alerts here now; the last time was a while ago."
            console().print(never if found.judged_at is None else late)
    if check and (found.open or not found.is_judged):
        sys.exit(1)


def _show(rows: "list[FindingStatus]", wall: float, settling_until: float | None) -> None:
    out = console()
    if settling_until is not None:
        nothing = "" if rows else "Nothing is wrong so far. "
        left = spoken(max(1.0, settling_until - wall))
        out.print(f"{nothing}Some alerts are judged in {left}: after a start or an outage the figures settle first.")
    elif not rows:
        out.print("Nothing is wrong.")
    if not rows:
        return
    table = plain_table("severity", "finding", "since", "what", "seen")
    for one in rows:
        table.add_row(_severity(one), one_line(one.id), _since(one, wall), one_line(one.evidence), _seen(one, wall))
    give_way(table, out.width, ("what", 50), ("finding", 30), ("what", 30), ("seen", 16), ("finding", 20))
    out.print(table)


def _severity(one: "FindingStatus") -> "Text":
    from rich.text import Text

    return Text(one.severity.value, style=_STYLES[one.severity.value]) if one.firing else Text("cleared")


def _since(one: "FindingStatus", wall: float) -> str:
    return f"{spoken(max(0.0, wall - (one.cleared_at or one.since)))} ago"


def _seen(one: "FindingStatus", wall: float) -> str:
    if one.silenced_until is not None:
        return one_line(f"silenced for {spoken(one.silenced_until - wall)}")
    return one_line(f"by {one.acked_by}") if one.acked_by is not None else ""
