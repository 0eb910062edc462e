"""What handlers leave behind for the judge: a log of runs, and effects.

The log has one line for each start, sign of life and end of a run, appended in one write, so that lines of
many processes never mix. Effects are rows of a table *without* a unique constraint, each inserted in the
transaction of `ctx.once`: an effect that was done twice is there twice.

Written by `tasks.py` in the workers; read by `stage.py` in the test.
"""

import os
import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import msgspec

from tenure.clock import SYSTEM_CLOCK
from tenure.tasks.context import Context, SyncContext

AnyContext = Context | SyncContext


class Line(msgspec.Struct, frozen=True):
    """One line of the log."""

    kind: str
    #: Names the run: one call of one handler.
    run: str
    id: str
    task: str
    fence: int
    attempt: int
    pid: int
    #: On the monotonic clock, which is the same for every process of the host.
    at: float
    #: How it ended: "returned", or the name of what it raised.
    how: str = ""


class Run(msgspec.Struct):
    """One call of one handler, put together from its lines."""

    id: str
    task: str
    fence: int
    attempt: int
    pid: int
    start: float
    #: The last sign of life; where there is no end, its process died later than this.
    last: float
    #: None: no end was logged.
    how: str | None = None


class Traces:
    """The log of runs and the effects of one scenario."""

    def __init__(self, folder: Path) -> None:
        """Keep both in `folder`."""
        self.folder = folder
        self._log = folder / "runs.log"
        self._effects = folder / "effects.db"

    def prepare(self) -> None:
        """Make the table of effects."""
        with closing(sqlite3.connect(self._effects)) as db:
            db.execute("CREATE TABLE effect (id TEXT NOT NULL, run TEXT NOT NULL)")
            db.commit()

    # -- the handlers' side ------------------------------------------------------------------------

    @contextmanager
    def run(self, ctx: AnyContext) -> Iterator[str]:
        """Log start and end around a handler's body; yields the run's name."""
        run = os.urandom(8).hex()
        self.write(ctx, run, "start")
        try:
            yield run
        except BaseException as error:
            self.write(ctx, run, "end", type(error).__name__)
            raise
        self.write(ctx, run, "end", "returned")

    def write(self, ctx: AnyContext, run: str, kind: str, how: str = "") -> None:
        """Append one line."""
        now = SYSTEM_CLOCK.monotonic()
        line = Line(kind, run, ctx.message.id, ctx.message.task, ctx.fence, ctx.attempt, os.getpid(), now, how)
        descriptor = os.open(self._log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.write(descriptor, msgspec.json.encode(line) + b"\n")
        finally:
            os.close(descriptor)

    def effect(self, ctx: AnyContext, run: str) -> None:
        """Do the effect of this message, once."""
        with closing(sqlite3.connect(self._effects, timeout=60, isolation_level=None)) as db:
            # Durable against the death of processes, which is what is tested; power cuts are not.
            db.execute("PRAGMA synchronous = OFF")
            db.execute("BEGIN IMMEDIATE")
            if ctx.once(db):
                db.execute("INSERT INTO effect VALUES (?, ?)", (ctx.message.id, run))
            db.execute("COMMIT")

    # -- the judge's side --------------------------------------------------------------------------

    def runs(self) -> list[Run]:
        """Every run so far, in order of its start."""
        runs: dict[str, Run] = {}
        text = self._log.read_bytes() if self._log.exists() else b""
        whole = text[: text.rfind(b"\n") + 1]  # the last line may be on its way
        for line in map(_line.decode, whole.splitlines()):
            run = runs.get(line.run)
            if run is None:
                run = Run(line.id, line.task, line.fence, line.attempt, line.pid, line.at, line.at)
                runs[line.run] = run
            run.last = line.at
            if line.kind == "end":
                run.how = line.how
        return sorted(runs.values(), key=lambda run: run.start)

    def runs_by_id(self) -> dict[str, list[Run]]:
        """Every run so far, by message."""
        found: dict[str, list[Run]] = defaultdict(list)
        for run in self.runs():
            found[run.id].append(run)
        return found

    def effects(self) -> dict[str, int]:
        """How often the effect of each message was done."""
        with closing(sqlite3.connect(self._effects)) as db:
            return dict(db.execute("SELECT id, count(*) FROM effect GROUP BY id").fetchall())


_line = msgspec.json.Decoder(Line)
