"""The videos to work on, made where they are needed: nothing is shipped, and nothing is downloaded.

In scaled time they are sparse files, which say 6 GB and take up nothing. ffmpeg gets a test picture that plays as long
as the work would take.
"""

import subprocess
from typing import NamedTuple

from tenure.timing.profile import estimate_for_size

from .settings import IS_REAL, SPEED, UPLOADS

MB = 1 << 20
GB = 1 << 30


class Video(NamedTuple):
    """One that somebody uploads."""

    name: str
    size_bytes: int
    #: How many beats the document's test cases count for it. None: they do not say.
    beats: tuple[int, int] | None = None


#: Three of one size at once: do three workers come, stay, and go?
MATCHES = tuple(Video(f"match-{number}.mp4", 2 * GB, (2, 3)) for number in (1, 2, 3))
#: By size, the smallest first.
SIZES = (
    Video("clip.mp4", 60 * MB, (0, 1)),
    Video("highlights.mp4", 500 * MB),
    Video("final.mp4", 4 * GB, (4, 5)),
)
#: Long ones, to be disturbed in the middle.
KILLED = Video("semifinal.mp4", 4 * GB)
NOTICED = Video("tournament.mp4", 6 * GB)


def make(video: Video) -> Video:
    """Make its file; the video with its true size."""
    path = UPLOADS / video.name
    if IS_REAL:
        seconds = estimate_for_size(video.size_bytes).seconds / SPEED
        picture = f"testsrc2=size=320x180:rate=25:duration={seconds}"
        subprocess.run(  # noqa: S603
            ["ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-f", "lavfi", "-i", picture,  # noqa: S607
             "-c:v", "libx264", "-preset", "ultrafast", path],
            check=True,
        )  # fmt: skip
    else:
        with path.open("wb") as file:
            file.truncate(video.size_bytes)
    return video._replace(size_bytes=path.stat().st_size)
