"""The video example: beats as the document counts them, in virtual time; and the whole story, with real processes."""

import contextlib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.servers.binary import binary
from tests.standstill import TookTooLong, check_duration

from tenure import Tenure
from tenure.testing import Kit

from .program import EXAMPLES, environment

MB, GB = 1 << 20, 1 << 30
SPEED = 10


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The example's tasks, ten times as fast as the size table says: the clock is virtual, fewer steps are enough."""
    monkeypatch.setenv("VIDEO_FOLDER", str(tmp_path))
    monkeypatch.setenv("VIDEO_SPEED", str(SPEED))
    monkeypatch.syspath_prepend(EXAMPLES)
    module = importlib.import_module("video_transcode.tasks")
    module.prepare()
    yield module
    for name in [name for name in sys.modules if name.partition(".")[0] == "video_transcode"]:
        del sys.modules[name]


@pytest.fixture
def tenure_app(tasks: ModuleType) -> Tenure:
    app: Tenure = tasks.app
    return app


def _upload(tasks: ModuleType, name: str, size_bytes: int) -> Any:
    with (tasks.UPLOADS / name).open("wb") as file:
        file.truncate(size_bytes)
    return tasks.upload(name, size_bytes)


@pytest.mark.parametrize(
    ("size_bytes", "lease", "minutes", "beats"),
    [(60 * MB, 600, 3, (0, 1)), (2 * GB, 1080, 19, (2, 3)), (4 * GB, 1080, 31, (4, 5))],
)
async def test_a_video_has_a_lease_by_its_size_and_beats_as_counted(
    kit: Kit, tasks: ModuleType, size_bytes: int, lease: float, minutes: float, beats: tuple[int, int]
) -> None:
    handle = await tasks.app.submit(_upload(tasks, "a.mp4", size_bytes))
    await kit.drain()
    assert await handle.result() == "published"
    (received,) = [event for event in kit.events if event.kind == "received"]
    (stats,) = [event for event in kit.events if event.kind == "heartbeat_stats"]
    (processed,) = [event for event in kit.events if event.kind == "processed"]
    assert received.data["lease_seconds"] == lease / SPEED
    assert processed.seconds == pytest.approx(minutes * 60 / SPEED, abs=0.1)
    assert beats[0] <= stats.data["extension_count"] <= beats[1]


async def test_a_worker_that_dies_right_after_it_published_does_not_publish_twice(kit: Kit, tasks: ModuleType) -> None:
    kit.crash_worker()
    handle = await tasks.app.submit(_upload(tasks, "a.mp4", 60 * MB))
    await kit.drain()
    assert await handle.result() == "was published by an earlier run"
    assert [path.name for path in tasks.PUBLISHED.iterdir()] == ["a.mp4"]


async def test_an_upload_that_is_repeated_is_one_message(kit: Kit, tasks: ModuleType) -> None:
    call = _upload(tasks, "a.mp4", 60 * MB)
    first, second = await tasks.app.submit(call), await tasks.app.submit(call)
    assert (second.id, second.duplicate) == (first.id, True)
    await kit.drain()


@pytest.mark.scenario
@pytest.mark.timeout(300)
def test_the_story_in_scaled_time(tmp_path: Path) -> None:
    _judge(_story(tmp_path, VIDEO_SPEED="150"))
    (left,) = {path.name for path in tmp_path.iterdir()}
    assert left == "video_transcode_run"


@pytest.mark.scenario
@pytest.mark.timeout(300)
def test_the_story_by_ffmpeg(tmp_path: Path) -> None:
    ffmpeg = binary("ffmpeg")
    path = f"{ffmpeg.parent}{os.pathsep}{os.environ['PATH']}"
    _judge(_story(tmp_path, VIDEO_REAL="1", PATH=path))
    folder = tmp_path / "video_transcode_run"
    for video in (folder / "published").iterdir():
        lengths = [_length(ffmpeg.parent / "ffprobe", one) for one in (folder / "uploads" / video.name, video)]
        assert lengths[1] == pytest.approx(lengths[0], abs=0.1), video
    assert not [path for path in Path("/proc").glob("[0-9]*/cmdline") if str(folder) in _read(path)], "ffmpeg goes on"


def test_a_folder_with_an_earlier_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "videos.db").touch()
    ended = _run(tmp_path, VIDEO_FOLDER=str(tmp_path))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "remove it, or name another folder in VIDEO_FOLDER" in ended.stderr


def test_the_page_of_examples_lists_it() -> None:
    assert "](video_transcode/README.md)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")


def _run(folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "video_transcode"], cwd=folder, capture_output=True, text=True, check=False, timeout=280,
        env={**environment(), "PYTHONPATH": str(EXAMPLES), **more},
    )  # fmt: skip


def _story(folder: Path, **more: str) -> str:
    ended = _run(folder, **more)
    assert "Traceback" not in ended.stderr, ended.stderr
    return ended.stdout


def _judge(said: str) -> None:
    """Nothing is ever lost or done twice. Workers and beats are counted by the clock: a machine may stand still."""
    *_, killed, noticed, _, last = said.splitlines()
    outcome, _, by_the_clock = last.partition(" · workers ")
    assert outcome == "videos 8 · published 8 · twice 0 · lost 0", said
    assert "worker-" in said
    if by_the_clock != "3 → 3 → 0 · beats 5 of 5":
        raise TookTooLong(said)
    for line, name, at_most in ((killed, "semifinal", 3.0), (noticed, "tournament", 10.0)):
        found = re.fullmatch(rf"{name}\.mp4 was begun again ([\d.]+) s after its worker .*", line)
        assert found is not None, line
        check_duration(f"the way back of {name}", float(found[1]), at_most)


def _length(ffprobe: Path, video: Path) -> float:
    command = [str(ffprobe), "-loglevel", "error", "-show_entries", "format=duration", "-of", "csv=p=0", str(video)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def _read(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace")
    return ""
