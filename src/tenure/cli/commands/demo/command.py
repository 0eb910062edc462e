"""`tenure demo`: watch the promises being kept, and count at the end."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import click
import msgspec

from tenure.cli.commands.demo.reckoning import Reckoning
from tenure.cli.commands.demo.screen import Scene, draw, progress_line, summary
from tenure.cli.commands.demo.stage import DemoPlan, DemoRun
from tenure.cli.failing import DONE, TROUBLE
from tenure.cli.target import json_option
from tenure.cli.terminal.duration import DURATION
from tenure.cli.terminal.output import console, say_json, say_line, say_lines
from tenure.errors import StoreUnwritable

if TYPE_CHECKING:
    from rich.console import Console

_UNWATCHED_SECONDS = 30.0
_LINE_EVERY_SECONDS = 3.0


@click.command(short_help="Watch Tenure keep its promises, with nothing to set up.")
@click.option("--for", "for_seconds", type=DURATION, help="How long. Default: until Ctrl-C; 30s without a terminal.")
@click.option("--rate", type=click.FloatRange(1, 5_000), default=60, show_default=True, help="Messages a second.")
@click.option("--workers", type=click.IntRange(1, 8), default=2, show_default=True, help="Worker processes.")
@click.option("--dir", "folder", type=click.Path(file_okay=False, path_type=Path), help="Keep the data here.")
@json_option
def demo(for_seconds: float | None, rate: float, workers: int, folder: Path | None, *, as_json: bool) -> int:
    """Watch Tenure keep its promises, with nothing to set up.

    Worker processes run messages from an embedded SQLite database. Some messages outlive their lease, fail and
    recover, always fail, or end the process that runs them; and every few seconds a worker is ended with
    kill -9. At the end every message is looked up and every effect counted. Meanwhile a server shows the same over
    HTTP, if the extra `server` is installed; the address is printed.

    Exits with 0 if nothing was lost and no effect was done twice, else with 1.
    """
    out = console()
    watched = out.is_terminal and not out.is_dumb_terminal and not as_json
    if for_seconds is None and not watched:
        for_seconds = _UNWATCHED_SECONDS
    with _Folder(folder) as place:
        show = _Screen(out) if watched else _Lines(to_stderr=as_json)
        stage = DemoRun(DemoPlan(place.path, for_seconds, rate, workers), show)
        with show:
            reckoning = asyncio.run(stage.play())
        _say(stage, reckoning, as_json=as_json)
        # Who leaves early leaves things unfinished; that is no broken promise.
        late = bool(reckoning.unfinished) and not stage.interrupted
        place.worth_a_look = late or not reckoning.promises_kept
    return TROUBLE if place.worth_a_look else DONE


def _say(stage: DemoRun, reckoning: Reckoning, *, as_json: bool) -> None:
    board = stage.board
    if as_json:
        figures = msgspec.to_builtins(reckoning)
        recoveries = [round(seconds, 3) for seconds in board.recoveries]
        figures |= {
            "promises_kept": reckoning.promises_kept, "recognised": stage.traffic.recognised,
            "kills": len(board.kills), "recovery_seconds": recoveries, "crashes": stage.crew.crashes,
            "retried": board.counts["retried"], "leases_lost": board.counts["lease_lost"],
            "dead_by_reason": dict(board.reasons),
        }  # fmt: skip
        say_json(figures)
        return
    for told in summary(board, stage.crew, stage.traffic.recognised, reckoning):
        say_line(f"  {told}")
    say_lines(str(reckoning))


class _Folder:
    """The folder with the data: the user's, or one that is removed at the end unless there is something to see."""

    def __init__(self, given: Path | None) -> None:
        self._given = given
        self.worth_a_look = False

    def __enter__(self) -> Self:
        try:
            if self._given is not None:
                self._given.mkdir(parents=True, exist_ok=True)
            self.path = self._given or Path(tempfile.mkdtemp(prefix="tenure-"))
        except OSError as error:
            raise StoreUnwritable(f"the folder cannot be made: {error}; name another with --dir") from error
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        if self._given is not None:
            return
        if self.worth_a_look or error is not None:
            say_line(f"Data and logs are kept in {self.path}", err=True)
        else:
            shutil.rmtree(self.path, ignore_errors=True)


class _Screen:
    """A terminal: the whole of it, until the demo ends."""

    leases = 12

    def __init__(self, out: "Console") -> None:
        from rich.live import Live

        self._out = out
        self._live = Live(console=out, screen=True, auto_refresh=False)

    def __enter__(self) -> None:
        self._live.__enter__()

    def __exit__(self, *error: object) -> None:
        self._live.__exit__(*error)  # type: ignore[arg-type]  # handed on

    def update(self, scene: Scene) -> None:
        """Draw the scene."""
        width, height = self._out.size
        self._live.update(draw(scene, width, height), refresh=True)


class _Lines:
    """Lines now and then, where there is no terminal."""

    leases = 0

    def __init__(self, *, to_stderr: bool) -> None:
        self._to_stderr = to_stderr
        self._next = _LINE_EVERY_SECONDS
        #: The line about the server; printed once.
        self._server = ""

    def __enter__(self) -> None:
        say_line("Tenure demo: real workers on an embedded SQLite database", err=self._to_stderr)

    def __exit__(self, *error: object) -> None:
        pass

    def update(self, scene: Scene) -> None:
        """Say how it goes, if it is time to; and where the server is, as soon as that is known."""
        server = f"Watch it at {scene.server.address}" if scene.server.address else scene.server.missing
        if server != self._server:
            self._server = server
            say_line(server, err=self._to_stderr)
        if scene.elapsed_seconds >= self._next:
            self._next = scene.elapsed_seconds + _LINE_EVERY_SECONDS
            say_line(progress_line(scene), err=self._to_stderr)
