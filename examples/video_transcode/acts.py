"""The story: three videos wait; then videos of all sizes, of which one loses its worker and one its machine.

Nothing in here does the work. It uploads, kills, and waits for the videos; workers and autoscaler do the rest.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable

from tenure import Handle, Tenure

from .autoscaler import Autoscaler
from .clips import KILLED, MATCHES, NOTICED, SIZES, Video, make
from .fleet import Fleet
from .pace import COOLDOWN, TARGET_AGE
from .tasks import upload
from .transcript import Transcript

_PATIENCE_SECONDS = 180
_LOOK_SECONDS = 0.1


class Stage:
    """What the acts share: an app, its workers, what was uploaded and what was done to whom."""

    def __init__(self, app: Tenure, fleet: Fleet, transcript: Transcript) -> None:
        """Nothing is uploaded yet."""
        self.app = app
        self.fleet = fleet
        self.transcript = transcript
        self.uploaded: dict[str, Video] = {}
        #: When the worker of a video was killed, or got its notice.
        self.killed_at: dict[str, float] = {}
        self.noticed_at: dict[str, float] = {}

    async def upload(self, *videos: Video) -> list[Handle[str]]:
        """Make files and send their messages, all at once."""
        made = [make(video) for video in videos]
        handles = await self.app.submit_many(upload(video.name, video.size_bytes) for video in made)
        for video, handle in zip(made, handles, strict=True):
            self.uploaded[handle.id] = video
            self.transcript.videos[handle.id] = video.name
            again = " again: it is the same message" if handle.duplicate else ""
            self.transcript.add(f"{video.name} is uploaded{again}")
        return handles


async def three_videos_wait(stage: Stage) -> None:
    """Three workers come, stay while they are at work, and go."""
    await stage.transcript.begin_chapter("Three videos of one size wait")
    for handle in await stage.upload(*MATCHES):
        await handle.result(_PATIENCE_SECONDS)
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not stage.fleet.is_empty():  # noqa: ASYNC110 - a process says nothing when it ends
            await asyncio.sleep(_LOOK_SECONDS)


async def workers_go_in_the_middle(stage: Stage) -> None:
    """Videos of all sizes; a worker is killed in the middle of a long one, another gets a spot notice."""
    await stage.transcript.begin_chapter("Videos of all sizes; one worker is killed, one gets a spot notice")
    stage.transcript.beats_of = SIZES[-1].name
    *others, killed, noticed = await stage.upload(*SIZES, KILLED, NOTICED)
    await stage.upload(KILLED)  # once more: somebody was impatient
    await asyncio.gather(_notice(stage, noticed), _kill(stage, killed))
    for handle in (*others, killed, noticed):
        await handle.result(_PATIENCE_SECONDS)


async def _kill(stage: Stage, handle: Handle[str]) -> None:
    worker = await _worker_at(handle, 0.4)
    stage.killed_at[handle.id] = time.time()
    stage.fleet.kill(worker)
    stage.transcript.add(f"{worker} is killed in the middle of {stage.uploaded[handle.id].name}")


async def _notice(stage: Stage, handle: Handle[str]) -> None:
    worker = await _worker_at(handle, 0.1)
    stage.noticed_at[handle.id] = time.time()
    stage.fleet.notice(worker)
    stage.transcript.add(f"{worker} gets a spot notice (SIGTERM)")


async def _worker_at(handle: Handle[str], fraction: float) -> str:
    """Wait until a video is so far; the name of its worker."""
    async with contextlib.aclosing(handle.updates()) as updates:
        async for update in updates:
            owner, progress = update.record.owner, update.progress
            if owner is not None and progress is not None and (progress.fraction or 0.0) >= fraction:
                return owner.partition("/")[0]
    msg = f"message {handle.id} ended before it was {fraction:.0%} done"
    raise RuntimeError(msg)


@contextlib.asynccontextmanager
async def opened_stage(app: Tenure, say: Callable[[str], None]) -> AsyncIterator[Stage]:
    """A stage with an autoscaler at work and a transcript that follows."""
    transcript = Transcript(say)
    with Fleet() as fleet:
        stage = Stage(app, fleet, transcript)
        scaler = Autoscaler(
            app, fleet, target_age_seconds=TARGET_AGE, cooldown_seconds=COOLDOWN, on_look=transcript.look
        )
        async with asyncio.TaskGroup() as beside:
            followers = [beside.create_task(scaler.run()), beside.create_task(transcript.run(app))]
            yield stage
            await asyncio.sleep(2.0)  # what the workers wrote last
            for follower in followers:
                follower.cancel()
