"""Examples that end by themselves: what they print is what they promise."""

import re
from pathlib import Path

import pytest

from .program import run

pytestmark = pytest.mark.scenario


def test_quickstart(tmp_path: Path) -> None:
    lines = run("quickstart.py", tmp_path)
    assert lines[:3] == [
        "resized: Size(width=400, height=300)",
        "fetched: /index.html, at attempt 2",
        "counted: 3",
    ]
    assert re.fullmatch(r"refused: rejected - message \w+ \(resize\) is dead: b\.jpg is not a PNG file", lines[3])
    assert lines[4:] == ["the last one is dead"]


def test_a_worker_dies_after_the_effect_and_the_effect_is_there_once(tmp_path: Path) -> None:
    assert run("exactly_once.py", tmp_path) == [
        "the first worker died of SIGKILL",
        "the second worker says: was charged by an earlier run",
        "runs: 2",
        "charges: [('ada', 995)]",
    ]


def test_two_workers_send_each_tick_once(tmp_path: Path) -> None:
    lines = run("cron.py", tmp_path)
    assert len(lines) == 3
    assert all(re.fullmatch(r"tick of \d\d:\d\d:\d\d UTC: sent 1 time, with two workers", line) for line in lines)
    assert len(set(lines)) == 3


def test_a_stopped_task_goes_on_where_it_was(tmp_path: Path) -> None:
    first, leased, given_back, second, goes_on, done = run("long_task.py", tmp_path)
    assert (first, second) == ("a worker begins, and is stopped in the middle:", "another worker goes on:")
    assert re.fullmatch(r"  leased, \d+% \(chapter \d+\)", leased)
    assert given_back.startswith("  ready")
    chapters = re.fullmatch(r"  Middlemarch: chapters 1 to (\d+) are done already", goes_on)
    assert chapters is not None
    assert 1 <= int(chapters[1]) < 16
    assert done == "  Middlemarch: 16 chapters"


def test_plain_functions_submit_and_wait(tmp_path: Path) -> None:
    invoices = [f"invoice for order {number}" for number in range(1, 6)]
    assert run("django_style.py", tmp_path) == [*invoices, "refused: {0: 'bad_argument'}", "sent: 2"]
