"""Tells the story, and counts at its end.

    python -m video_transcode                in scaled time: about a minute
    VIDEO_REAL=1 python -m video_transcode   by ffmpeg, on clips of 2 to 32 s: likewise

It leaves its folder beside you (`settings.py`).
"""

import asyncio
import sys
from collections.abc import Sequence

from .acts import Stage, opened_stage, three_videos_wait, workers_go_in_the_middle
from .evidence import Result, back_after, gather, table, workers_wanted
from .settings import FOLDER, IS_REAL, SPEED
from .tasks import app, prepare


async def tell() -> bool:
    """Both acts; whether all is as it should be."""
    prepare()
    print(f"{'ffmpeg at work' if IS_REAL else 'scaled time'}: a second is {SPEED / 60:g} minutes of the size table")
    print(f"what it leaves: {FOLDER}")
    async with app:
        async with opened_stage(app, print) as stage:
            await three_videos_wait(stage)
            await workers_go_in_the_middle(stage)
        results = await gather(app, stage.uploaded)
    print("", *table(results), "", "By the clock, not scaled:", *_recoveries(stage, results), sep="\n")
    return _summary(results, workers_wanted(stage.transcript.looks))


def _recoveries(stage: Stage, results: Sequence[Result]) -> list[str]:
    named = {one.id: one for one in results}
    killed = [(named[id], at, "its worker was killed") for id, at in stage.killed_at.items()]
    noticed = [(named[id], at, "its worker got a spot notice") for id, at in stage.noticed_at.items()]
    return [
        f"{one.video.name} was begun again {back_after(one, at):.2f} s after {what}"
        for one, at, what in (*killed, *noticed)
    ]


def _summary(results: Sequence[Result], wanted: Sequence[int | None]) -> bool:
    """Print the last line; whether it is as it should be."""
    published = sum(one.is_there for one in results)
    twice = sum(max(0, one.rows - 1) for one in results)
    lost = sum(not (one.is_there and one.rows) for one in results)
    counted = [one for one in results if one.video.beats is not None]
    right = sum(one.is_as_counted for one in counted)
    print(
        f"\nvideos {len(results)} · published {published} · twice {twice} · lost {lost} · "
        f"workers {' → '.join('?' if one is None else str(one) for one in wanted)} · beats {right} of {len(counted)}"
    )
    return not twice and not lost and list(wanted) == [3, 3, 0] and right == len(counted)


def main() -> int:
    """Exit code 0: all is as it should be."""
    if (FOLDER / "videos.db").exists():
        print(f"{FOLDER} has an earlier run: remove it, or name another folder in VIDEO_FOLDER", file=sys.stderr)
        return 2
    return 0 if asyncio.run(tell()) else 1


if __name__ == "__main__":
    sys.exit(main())
