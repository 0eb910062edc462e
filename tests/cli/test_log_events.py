"""The log of a real worker, read by the very commands of people who had such logs before: `grep … | jq …`."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LOG = "cloudwatch.log"
JOBS = """
import asyncio

from tenure import Context, Tenure

app = Tenure("sqlite:///video.db")


@app.task
async def clip(ctx: Context) -> None:
    ctx.log.info("a short one")


@app.task(lease=0.6)
async def match(ctx: Context) -> None:
    await ctx.set_size(4_294_967_296)
    await asyncio.sleep(1.5)


@app.task
async def order(ctx: Context, number: int) -> None:
    ctx.log.info("checked")
    ctx.submit(ship.bind(number))


@app.task
async def ship(ctx: Context, number: int) -> None:
    ctx.log.info("shipped")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "video.py").write_text(JOBS)
    return tmp_path


def _tenure(folder: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tenure", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=120
    )
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(done.stderr)
    return done.stdout


def _worked(folder: Path, names: str) -> None:
    _tenure(folder, "worker", "video:app", "--until-empty", "--log", "json", "--log-events", names, "--detail", "1")


def _grep_jq(folder: Path, word: str, path: str) -> list[str]:
    """`grep "WORD" cloudwatch.log | jq 'PATH'`; where there is no jq, the same of Python's json for a path of names."""
    if shutil.which("jq") is not None:
        command = f"grep \"{word}\" {LOG} | jq -c '{path}'"
        said = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=True)
        return said.stdout.splitlines()
    lines = [json.loads(line) for line in (folder / LOG).read_text().splitlines() if word in line]
    return [json.dumps(line.get(path.removeprefix("."))) for line in lines]


def _events(folder: Path) -> list[dict[str, object]]:
    lines = [json.loads(line) for line in (folder / LOG).read_text().splitlines()]
    return [line for line in lines if line["logger"] == "tenure.events"]


def test_the_commands_of_a_heartbeats_log_work(folder: Path) -> None:
    short = json.loads(_tenure(folder, "submit", "video:app", "clip", "--json"))["id"]
    long = json.loads(_tenure(folder, "submit", "video:app", "match", "--json"))["id"]
    _worked(folder, "cloudwatch")
    counts = _grep_jq(folder, "heartbeat_stats", ".extension_count")
    jobs = _grep_jq(folder, "heartbeat_stats", ".job_id")
    by_job = dict(zip(map(json.loads, jobs), map(int, counts), strict=True))
    assert by_job[short] == 0
    assert by_job[long] >= 2
    assert _grep_jq(folder, "heartbeat_started", ".event_type") == ['"heartbeat_started"'] * 2
    extended = [event for event in _events(folder) if event["event_type"] == "heartbeat_extended"]
    assert len(extended) == by_job[long]
    assert {"event_type", "job_id", "extension_count", "extension_seconds", "total_extended_seconds"} <= set(
        extended[0]
    )
    (size,) = _grep_jq(folder, "file_size_detected", ".file_size_bytes")
    assert int(size) == 4_294_967_296
    (mb,) = _grep_jq(folder, "file_size_detected", ".file_size_mb")
    assert float(mb) == 4096


def test_the_timeline_of_application_insights_has_its_names(folder: Path) -> None:
    id = json.loads(_tenure(folder, "submit", "video:app", "clip", "--json"))["id"]
    _worked(folder, "app_insights")
    told = [event for event in _events(folder) if event.get("message_id") == id]
    assert [event["event"] for event in told] == [
        "message_received", "message_processed", "message_deletion", "message_deleted"
    ]  # fmt: skip
    assert {event["container"] for event in told} == {"clip"}
    assert told[0]["dequeue_count"] == 1
    assert (told[2]["result"], told[2]["success"]) == ("success", True)


def test_one_word_finds_a_piece_of_work_from_its_submit_to_its_last_message(folder: Path) -> None:
    _tenure(folder, "submit", "video:app", "order", '{"number": 7}', "--correlation-id", "order-7")
    _worked(folder, "tenure")
    lines = [json.loads(line) for line in (folder / LOG).read_text().splitlines() if "order-7" in line]
    assert all(line["correlation_id"] == "order-7" for line in lines)
    assert [line["message"] for line in lines if line["logger"] == "tenure.task"] == ["checked", "shipped"]
    steps = {(line["task"], line["event"]) for line in lines if line["logger"] == "tenure.events"}
    assert {(task, step) for task in ("order", "ship") for step in ("received", "processed", "deletion")} <= steps
