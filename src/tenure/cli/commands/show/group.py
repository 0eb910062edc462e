"""`tenure show` of a group: how far it is, and which members failed."""

from typing import TYPE_CHECKING

from tenure.cli.terminal.duration import spoken
from tenure.cli.terminal.moment import local
from tenure.cli.terminal.plain import one_line
from tenure.client.operations.groups import GroupDetail
from tenure.group import GroupState, MemberState

if TYPE_CHECKING:
    from rich.console import Console

#: Without --full: this many of the members that failed.
_SHOWN = 10
_BAR = 24
_STYLES = {
    GroupState.SUBMITTING: "cyan", GroupState.RUNNING: "blue", GroupState.COMPLETE: "green",
    GroupState.EXPIRED: "yellow", GroupState.CANCELLED: "dim", GroupState.ABANDONED: "yellow",
}  # fmt: skip


def tell_group(out: "Console", found: GroupDetail, wall: float, *, full: bool) -> None:
    """Print a group on a console."""
    from rich.text import Text

    from tenure.cli.terminal.screen import OneLineTable

    out.print(Text.assemble(("group   ", "dim"), "  ", (one_line(found.id), "bold")), soft_wrap=True)
    rows = OneLineTable.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True, min_width=8)
    rows.add_column(overflow="fold")
    rows.add_row("state", Text(_state(found, wall), style=_STYLES[found.state]))
    rows.add_row("members", Text(_members(found)))
    rows.add_row("", Text(_bar(found)))
    rows.add_row("queues", Text(one_line(", ".join(found.queues) or "–")))
    if found.client is not None:
        rows.add_row("client", Text(one_line(found.client)))
    rows.add_row("sent", Text(local(found.created_at)))
    rows.add_row("then", Text(one_line(_then(found, wall))))
    out.print(rows)
    _tell_failed(out, found, full=full)


def _state(found: GroupDetail, wall: float) -> str:
    match found.state:
        case GroupState.SUBMITTING:
            return "submitting: its members are being sent"
        case GroupState.RUNNING:
            return f"running, expires in {spoken(max(0.0, found.expires_at - wall))}"
        case GroupState.ABANDONED:
            return "abandoned: its submission was not finished within an hour, so it was taken back"
    ago = "" if found.ended_at is None else f" for {spoken(max(0.0, wall - found.ended_at))}"
    return f"{found.state.value}{ago}"


def _members(found: GroupDetail) -> str:
    parts = [f"{found.ended:,} of {found.total:,} have ended"]
    counts = (("completed", found.completed), ("dead", found.dead), ("cancelled", found.cancelled))
    parts += [f"{count:,} {word}" for word, count in counts if count]
    return ", ".join(parts)


def _bar(found: GroupDetail) -> str:
    done = 1.0 if not found.total else found.ended / found.total
    full = int(done * _BAR)
    return f"{'█' * full}{'░' * (_BAR - full)} {done:.0%}"


def _then(found: GroupDetail, wall: float) -> str:
    if found.then_id is None:
        return "nothing follows"
    if found.then_sent_at is not None:
        return f"{found.then_task} {found.then_id}, sent {spoken(max(0.0, wall - found.then_sent_at))} ago"
    if found.state in (GroupState.CANCELLED, GroupState.ABANDONED):
        return f"{found.then_task} was not sent"
    return f"{found.then_task}, when all have ended"


def _tell_failed(out: "Console", found: GroupDetail, *, full: bool) -> None:
    from rich.text import Text

    if not found.failed:
        return
    out.print()
    shown = found.failed if full else found.failed[:_SHOWN]
    for one in shown:
        why = "" if one.reason is None else f"  {one.reason.code}: {one_line(one.reason.text)}"
        style = "red" if one.state is MemberState.DEAD else "dim"
        out.print(Text.assemble((f"{one.state.value:<10}", style), one_line(one.id), why), soft_wrap=True)
    rest = found.dead + found.cancelled - len(shown)
    if rest > 0:
        out.print(Text(f"and {rest:,} more{'' if full else '; --full shows up to 100'}", style="dim"))
