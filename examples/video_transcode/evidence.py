"""The figures at the end. Nothing is remembered from the run: all is counted from journal, catalogue and files."""

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

from tenure import Tenure
from tenure.client.operations import EventQuery

from .autoscaler import Look
from .clips import GB, MB, Video
from .pace import MINUTE, expected_seconds, lease_for
from .settings import CATALOGUE, PUBLISHED, SPEED

_PAGE = 1_000


class Run(NamedTuple):
    """One delivery of a video to a worker."""

    began_at: float
    #: None: its worker died.
    seconds: float | None = None
    beats: int | None = None
    outcome: str = "its worker died"


class Result(NamedTuple):
    """A video and what became of it."""

    #: Of its message.
    id: str
    video: Video
    runs: tuple[Run, ...]
    #: Rows in the catalogue, and whether its file is there.
    rows: int
    is_there: bool

    @property
    def beats(self) -> int | None:
        """Beats of the run that published it."""
        return self.runs[-1].beats if self.runs else None

    @property
    def is_as_counted(self) -> bool:
        """Whether it has as many beats as the document's test cases count."""
        if self.video.beats is None or self.beats is None:
            return False
        low, high = self.video.beats
        return low <= self.beats <= high


async def gather(app: Tenure, uploaded: Mapping[str, Video]) -> list[Result]:
    """Count what became of each upload."""
    runs: dict[str, list[Run]] = {id: [] for id in uploaded}
    after, last = 0, 1
    while after < last:
        page = await app.operate.events(EventQuery(after=after, limit=_PAGE))
        after, last = page.after, page.last
        for event in page.events:
            of = runs.get(event.message_id or "")
            if of is None:
                continue
            if event.kind == "received":
                of.append(Run(event.at))
            elif event.kind == "processed":
                of[-1] = of[-1]._replace(seconds=event.seconds, outcome=event.data["outcome"])
            elif event.kind == "heartbeat_stats":
                of[-1] = of[-1]._replace(beats=event.data["extension_count"])
    with closing(sqlite3.connect(CATALOGUE)) as db:
        rows = dict(db.execute("SELECT message, count(*) FROM published GROUP BY message").fetchall())
    return [
        Result(id, video, tuple(runs[id]), rows.get(id, 0), (PUBLISHED / video.name).is_file())
        for id, video in uploaded.items()
    ]


def table(results: Sequence[Result]) -> list[str]:
    """One line a video."""
    lines = [
        f"{'video':16}{'size':>8}{'lease':>10}{'expected':>10}{'took':>10}{'runs':>6}{'beats':>7}{'as counted':>12}"
    ]
    for one in results:
        took = one.runs[-1].seconds if one.runs else None
        size, counted = one.video.size_bytes, one.video.beats
        low_high = "" if counted is None else f"{counted[0]}–{counted[1]}"
        lines.append(
            f"{one.video.name:16}{_size(size):>8}{_span(lease_for(size)):>10}{_span(expected_seconds(size)):>10}"
            f"{_span(took):>10}{len(one.runs):>6}{'?' if one.beats is None else one.beats:>7}{low_high:>12}".rstrip()
        )
    return lines


def back_after(result: Result, at: float) -> float:
    """Seconds from a moment until the next worker had the video."""
    return min(run.began_at for run in result.runs if run.began_at > at) - at


def workers_wanted(looks: Sequence[Look]) -> list[int | None]:
    """Workers wanted in the first act: while three waited, while three ran, when it was over. None: not seen."""
    after = iter(looks)
    states = [(3, 0), (0, 3), (0, 0)]
    return [next((look.wanted for look in after if look[:2] == state), None) for state in states]


def _size(size_bytes: int) -> str:
    for unit, name in ((GB, "GB"), (MB, "MB")):
        if size_bytes >= unit:
            return f"{size_bytes / unit:.0f} {name}"
    return f"{size_bytes >> 10} kB"


def _span(seconds: float | None) -> str:
    return "?" if seconds is None else f"{seconds * SPEED / MINUTE:.1f} min"
