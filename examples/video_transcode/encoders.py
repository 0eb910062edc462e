"""The work: a video is encoded into a file of this run's own. Both ways yield how far they are, from 0 to 1.

A run may end in the middle: its worker stops, its lease is lost, its message is cancelled. Then the generator is
closed, and what it started ends with it.
"""

import asyncio
import contextlib
import shutil
import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from .pace import expected_seconds
from .settings import IS_REAL

_STEP_SECONDS = 0.05
_MICROSECONDS = 1e6


async def in_scaled_time(source: Path, target: Path) -> AsyncGenerator[float]:
    """Sleep as long as the size table says, and write one line."""
    size = source.stat().st_size  # noqa: ASYNC240 - a local file
    seconds, clock = expected_seconds(size), asyncio.get_running_loop()
    steps, began = round(seconds / _STEP_SECONDS), clock.time()
    for step in range(steps):
        yield step / steps
        await asyncio.sleep(max(0.0, began + (step + 1) * seconds / steps - clock.time()))
    target.write_text(f"{source.name}, {size} bytes, encoded\n", encoding="utf-8")  # noqa: ASYNC240


async def with_ffmpeg(source: Path, target: Path) -> AsyncGenerator[float]:
    """Encode with ffmpeg, reading as fast as the video plays."""
    length = await _length_seconds(source)
    process = await asyncio.create_subprocess_exec(
        *_ends_with_its_parent(), "ffmpeg", "-nostdin", "-loglevel", "error", "-y", "-re", "-i", str(source),
        "-c:v", "libx264", "-preset", "veryfast", "-crf", "30", "-f", "mp4", "-progress", "pipe:1", str(target),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        async for line in process.stdout:
            name, _, value = line.decode().strip().partition("=")
            if name == "out_time_us" and value.isdigit():
                yield min(1.0, int(value) / _MICROSECONDS / length)
        _, errors = await process.communicate()
        if process.returncode:
            msg = f"ffmpeg cannot encode {source.name}: {errors.decode().strip()}"
            raise RuntimeError(msg)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()


async def _length_seconds(source: Path) -> float:
    process = await asyncio.create_subprocess_exec(
        "ffprobe", "-loglevel", "error", "-show_entries", "format=duration", "-of", "csv=p=0", str(source),
        stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    printed, _ = await process.communicate()
    return float(printed)


def _ends_with_its_parent() -> list[str]:
    """On Linux, a prefix by which a killed worker leaves no ffmpeg behind. Elsewhere it goes on, for nothing."""
    command = shutil.which("setpriv") if sys.platform == "linux" else None
    return [] if command is None else [command, "--pdeathsig", "KILL"]


encode = with_ffmpeg if IS_REAL else in_scaled_time
