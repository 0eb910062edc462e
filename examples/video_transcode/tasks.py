"""The app and its one task: encode a video under a lease, and publish it once.

    python -m tenure worker video_transcode.tasks:app --concurrency 1

from the folder above this one.
"""

import sqlite3
from contextlib import aclosing, closing
from pathlib import Path

from tenure import Call, Context, Snooze, Tenure

from .encoders import encode
from .pace import BY_SIZE, lease_for
from .settings import CATALOGUE, PUBLISHED, UPLOADS, URL

app = Tenure(URL)


@app.task(size="size_bytes", profile=BY_SIZE, concurrency=1, detail=1.0)
async def transcode(ctx: Context, video: str, size_bytes: int) -> str:  # noqa: ARG001 - `size=` reads it
    """Encode a video. `size_bytes` decides how long it is expected to take."""
    part = PUBLISHED / f"{video}.{ctx.fence}.part"  # of this run alone: two runs never write one file
    async with aclosing(encode(UPLOADS / video, part)) as steps:
        async for fraction in steps:
            ctx.progress(fraction)
            if ctx.stopping:  # a spot notice, a deploy: another worker gets it now, and no attempt is counted
                part.unlink(missing_ok=True)
                raise Snooze(reason="this worker is going away")
    return publish(ctx, video, part)


def publish(ctx: Context, video: str, part: Path) -> str:
    """Show the video. If a run before this one was killed right after that, nothing is done again."""
    with closing(sqlite3.connect(CATALOGUE, timeout=30)) as db, db:  # one transaction
        if is_first := ctx.once(db):
            db.execute("INSERT INTO published (video, message) VALUES (?, ?)", (video, ctx.message.id))
            part.replace(PUBLISHED / video)
    for left in PUBLISHED.glob(f"{video}.*.part"):  # of runs that were killed
        left.unlink(missing_ok=True)
    return "published" if is_first else "was published by an earlier run"


def upload(video: str, size_bytes: int) -> Call[str]:
    """What to send for a video: its lease goes by its size, and uploading it twice is one message."""
    return transcode.bind(video, size_bytes).having(lease=lease_for(size_bytes), key=video)


def prepare() -> None:
    """Make the folders and the catalogue."""
    for folder in (UPLOADS, PUBLISHED):
        folder.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(CATALOGUE)) as db, db:
        db.execute("CREATE TABLE IF NOT EXISTS published (video TEXT, message TEXT)")
