"""The demo's screen: calm, the same place for the same thing, readable at 80×24 and in sixteen colours.

title                                     time
figures
queues                 workers
leases, each with its countdown
what happened
hint
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tenure.broker import Depth
from tenure.cli.commands.demo.board import DemoBoard, Kill
from tenure.cli.commands.demo.crew import Crew, DemoWorker
from tenure.cli.commands.demo.glance import DrawnLease, Glance
from tenure.cli.commands.demo.reckoning import Reckoning
from tenure.cli.commands.demo.web import DemoServer
from tenure.cli.terminal.duration import countdown, spoken
from tenure.cli.terminal.output import count, plural
from tenure.cli.terminal.screen import OneLineTable

#: Lines that are always there: title, figures, headings, blanks, hint.
_FRAME_LINES = 10
_WIDE = 100
_BAR = 14
_WIDTHS = {"pid": 7, "queue": 7, "worker": 8, "task": 9, "left": 6, "message is": 10, "done": 4, "away": 5}


class Scene(msgspec.Struct, frozen=True):
    """The data that the screen shows."""

    board: DemoBoard
    crew: Crew
    glance: Glance
    sent: int
    recognised: int
    #: Effects done twice; the promise: 0.
    doubled: int
    elapsed_seconds: float
    #: None: until Ctrl-C.
    duration_seconds: float | None
    #: The phase, in two or three words.
    phase: str
    url: str
    server: DemoServer


def draw(scene: Scene, width: int, height: int) -> RenderableType:
    """The whole screen, exactly `height` lines."""
    tables = max(len(scene.glance.depths), len(scene.crew.members))
    free = max(4, height - _FRAME_LINES - tables)
    leases = max(2, free * 2 // 5)
    parts: list[RenderableType] = [
        _title(scene),
        _figures(scene),
        Text(),
        _side_by_side(_queues(scene.glance.depths, wide=width >= _WIDE), _workers(scene)),
        Text(),
        _leases(scene.glance.held, leases, wide=width >= _WIDE),
        Text(),
        _happened(scene.board, free - leases),
        Text(),
        Text(f" Ctrl-C ends it · {_where(scene)}", style="dim", no_wrap=True, overflow="ellipsis"),
    ]
    return Group(*parts)


def _where(scene: Scene) -> str:
    """Say where else to look."""
    return f"watch it at {scene.server.address}" if scene.server.address else f"tenure top {scene.url}"


def _title(scene: Scene) -> RenderableType:
    time = _minutes(scene.elapsed_seconds)
    if scene.duration_seconds is not None and scene.elapsed_seconds <= scene.duration_seconds:
        time += f" of {_minutes(scene.duration_seconds)}"
    left = Text.assemble((" Tenure demo", "bold"), (f"   {scene.phase}", "dim"))
    return _edges(left, Text(f"{time} ", style="bold"))


def _figures(scene: Scene) -> RenderableType:
    counts = scene.board.counts
    left = _pairs(
        ("sent", scene.sent, ""),
        ("completed", counts["completed"], "green"),
        ("retried", counts["retried"], "yellow"),
        ("dead", scene.glance.dead, "red"),
        ("repeats", scene.recognised, "cyan"),
    )
    right = _pairs(("twice", scene.doubled, "bold red" if scene.doubled else "green"))
    return _edges(Text.assemble(" ", left), Text.assemble(right, " "))


def _queues(depths: Iterable[Depth], *, wide: bool) -> Table:
    names = ["ready", "delayed", "leased", "dead", *(["oldest"] if wide else [])]
    rows = _table("queue", *names, right=names)
    for depth in sorted(depths, key=lambda depth: depth.queue):
        cells = [
            Text(depth.queue),
            _figure(depth.ready, "cyan"),
            _figure(depth.delayed, "yellow"),
            _figure(depth.leased, "blue"),
            _figure(depth.dead, "red"),
        ]
        if wide:
            cells.append(Text(spoken(depth.oldest_age_seconds)))
        rows.add_row(*cells)
    return rows


def _workers(scene: Scene) -> Table:
    rows = _table("worker", "pid", "starts", "holds", "away", right=("pid", "starts", "holds", "away"))
    for member in scene.crew.members:
        rows.add_row(*_worker(member, scene))
    return rows


def _worker(member: DemoWorker, scene: Scene) -> list[Text]:
    holds = scene.glance.holds.get(member.name, 0)
    kill = scene.board.last_kill_of(member.name)
    if member.has_stopped:
        style, pid = "dim", "stopped"
    elif member.pid is None or member.is_being_killed:
        style, pid = "red", member.last_end or "joining"
    elif member.pid not in scene.glance.alive:
        style, pid = "yellow", "joining"
    else:
        style, pid = "green", str(member.pid)
    return [Text(member.name), Text(pid, style=style), Text(str(member.starts)), _figure(holds, "blue"), _back(kill)]


def _back(kill: Kill | None) -> Text:
    """Say how long this worker's messages were away after the last kill -9."""
    if kill is None:
        return Text("–", style="dim")
    if kill.back_after_seconds is None:
        return Text("…", style="yellow")
    return Text(f"{kill.back_after_seconds:.1f} s", style="green")


def _leases(held: tuple[DrawnLease, ...], lines: int, *, wide: bool) -> RenderableType:
    rows = _table("lease", "task", "held by", "", "left", "message is", "done", right=("left", "message is", "done"))
    for one in held[:lines]:
        share = one.left_seconds / one.lease_seconds if one.lease_seconds else 0.0
        rows.add_row(
            Text(one.id[-12:] if wide else one.id[-6:], style="dim"),
            Text(one.task),
            Text(one.worker),
            _bar(share, 2 * _BAR if wide else _BAR),
            Text(_left(one.left_seconds), style=_share_style(share)),
            Text(f"{spoken(one.age_seconds)} old"),
            Text("" if one.fraction is None else f"{one.fraction:.0%}", style="cyan"),
        )
    for _ in range(lines - len(held[:lines])):
        rows.add_row()
    return _indent(rows)


def _happened(board: DemoBoard, lines: int) -> RenderableType:
    shown = list(board.lines)[-lines:]
    texts = [Text(" what happened", style="bold dim")]
    for line in shown:
        time = datetime.fromtimestamp(line.at).astimezone().strftime("%H:%M:%S")
        text = Text.assemble((f" {time}  ", "dim"), (f"{line.word:<11}", line.style), line.text)
        text.no_wrap, text.overflow = True, "ellipsis"
        texts.append(text)
    texts += [Text()] * (lines - len(shown))
    return Group(*texts)


def summary(board: DemoBoard, crew: Crew, recognised: int, reckoning: Reckoning) -> list[str]:
    """What the demo has shown, for people, before its last line."""
    told = []
    if board.kills:
        back = board.recoveries
        times = "" if not back else f"; what it held was ready again after {_span(back)}"
        told.append(f"kill -9 ended a worker {_times(len(board.kills))}{times}")
    alone = board.reasons["crashed_alone"]
    if crew.crashes or alone:
        end = f", then ran alone: {plural(alone, 'dead letter')}" if alone else ""
        told.append(f"explode took {plural(crew.crashes, 'worker')} down{end}")
    completed, dead = board.by_task["transcode", "completed"], board.by_task["fax", "dead"]
    lost = plural(board.counts["lease_lost"], "lease")
    told.append(f"transcode ran three times its lease, {_times(completed)}; {lost} lost")
    recovered = _times(board.by_task["notify", "completed"])
    told.append(f"notify failed twice, then succeeded, {recovered}; fax never did: {plural(dead, 'dead letter')}")
    told.append(f"{plural(recognised, 'repeated submit')} recognised by key")
    repeated = plural(reckoning.effects_skipped, "repeated run")
    twice = reckoning.duplicates or "none"
    told.append(f"{plural(reckoning.effects, 'effect')}, {twice} of them twice; {repeated} found theirs done")
    return told


def progress_line(scene: Scene) -> str:
    """Make one line for a log, where there is no terminal."""
    board = scene.board
    line = (
        f"{scene.elapsed_seconds:5.1f} s  {scene.phase}: sent {scene.sent} · completed {board.counts['completed']} · "
        f"leased {scene.glance.leased} · dead {scene.glance.dead}"
    )
    if board.kills:
        back = board.recoveries
        line += f" · kill -9: {len(board.kills)}" + (f", messages back after {_span(back)}" if back else "")
    return line


# -- pieces ----------------------------------------------------------------------------------------


def _table(*columns: str, right: Iterable[str] = ()) -> Table:
    table = OneLineTable(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold dim")
    for column in columns:
        # Held at their usual width, so that nothing moves sideways when a word comes and goes.
        least = _WIDTHS.get(column)
        table.add_column(column, justify="right" if column in right else "left", no_wrap=True, min_width=least)
    return table


def _side_by_side(left: Table, right: Table) -> Table:
    grid = OneLineTable.grid(expand=True)
    grid.add_column(ratio=1)
    grid.add_column()
    grid.add_row(_indent(left), right)
    return grid


def _edges(left: Text, right: Text) -> Table:
    grid = OneLineTable.grid(expand=True)
    grid.add_column(no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(left, right)
    return grid


def _indent(table: Table) -> RenderableType:
    return Padding(table, (0, 0, 0, 1))


def _pairs(*pairs: tuple[str, int, str]) -> Text:
    text = Text()
    for name, number, style in pairs:
        text.append(f"{'   ' if text else ''}{name} ", style="dim").append(f"{number:,}", style=style or "bold")
    return text


def _figure(number: int | None, style: str) -> Text:
    return Text(count(number), style=style if number else "dim")


def _bar(share: float, width: int) -> Text:
    """Draw how much of the lease is left. The heartbeat fills it up again."""
    full = round(max(0.0, min(1.0, share)) * width)
    return Text.assemble(("━" * full, _share_style(share)), ("─" * (width - full), "dim"))


def _left(seconds: float) -> str:
    return spoken(seconds) if seconds >= 0 else countdown(seconds)


def _share_style(share: float) -> str:
    if share < 0:
        return "red"
    return "green" if share > 0.35 else "yellow"  # noqa: PLR2004 - just under the third at which the heartbeat comes


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def _span(seconds: list[float]) -> str:
    least, most = f"{min(seconds):.1f}", f"{max(seconds):.1f}"
    return f"{most} s" if least == most else f"{least}–{most} s"
