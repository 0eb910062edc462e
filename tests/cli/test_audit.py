"""`tenure audit`: what it prints, and how it ends in CI."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console

import tenure as package
from tenure.audit import audit
from tenure.cli.commands.audit import _print_rules

from .conftest import Run

BAD = """\
import boto3

sqs = boto3.client("sqs")


def run(url, work):
    for message in sqs.receive_message(QueueUrl=url, VisibilityTimeout=600)["Messages"]:
        work(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
"""
EARLY = """\
def handle(sqs, url, message, work):
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    work(message["Body"])
"""


@pytest.fixture
def code(folder: Path) -> Path:
    """A folder with two files, of a warning and a critical finding."""
    place = folder / "code"
    place.mkdir()
    (place / "worker.py").write_text(BAD)
    (place / "early.py").write_text(EARLY)
    return place


def test_test_code_is_read_when_it_is_asked_for(tenure: Run, code: Path) -> None:
    (code / "test_worker.py").write_text(BAD)
    assert tenure("audit", "code").stdout.endswith(" 2 files, 12 lines. 1 test file left out (--tests).\n")
    assert " 3 files, " in tenure("audit", "code", "--tests").stdout
    assert [_json(tenure, "code")[name] for name in ("files", "tests_left_out")] == [2, 1]


def _json(tenure: Run, *words: str) -> Any:
    return msgspec.json.decode(tenure("audit", *words, "--json").stdout)


def test_it_tells_place_rule_and_what_to_do(tenure: Run, code: Path) -> None:
    result = tenure("audit", "code")
    assert result.exit_code == 1
    assert "code/worker.py:7:20" in result.stdout
    assert "TQ101" in result.stdout
    assert "VisibilityHeartbeat" in result.stdout
    assert "2 findings (1 critical, 1 warning); 3 queue operations in 2 files, 12 lines." in result.stdout


def test_the_baseline_lists_every_operation_and_can_be_left_out(tenure: Run, code: Path) -> None:
    assert "delete (sqs)" in tenure("audit", "code").stdout
    assert "delete (sqs)" not in tenure("audit", "code", "--no-baseline").stdout
    assert [row["kind"] for row in _json(tenure, "code")["operations"]] == ["delete", "receive", "delete"]
    assert "operations" not in _json(tenure, "code", "--no-baseline")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 1),
        (["--fail-on", "critical"], 1),
        (["--fail-on", "never"], 0),
        (["--fail-on", "critical", "--ignore", "TQ203"], 0),
        (["--ignore", "TQ1,TQ2"], 0),
        (["--select", "TQ601"], 0),
        (["--select", "tq6"], 0),
        (["--select", "TQ601", "--select", "TQ101"], 1),
        (["--exclude", "early.py", "--fail-on", "critical"], 0),
    ],
)
def test_the_exit_code_follows_fail_on_and_the_rules(tenure: Run, code: int, words: list[str], folder: Path) -> None:
    (folder / "worker.py").write_text(BAD)
    (folder / "early.py").write_text(EARLY)
    assert tenure("audit", "worker.py", "early.py", ".", *words).exit_code == code


def test_nothing_found_is_said_and_ends_well(tenure: Run, folder: Path) -> None:
    result = tenure("audit", "jobs.py")
    assert (result.exit_code, result.stdout.splitlines()[-1].split(";")[0]) == (0, "No findings")
    (folder / "empty").mkdir()
    assert tenure("audit", "empty").stdout == "No Python file there: nothing was audited.\n"


def test_json_is_one_document_with_the_finding_and_its_place(tenure: Run, code: Path) -> None:
    found = _json(tenure, "code")["findings"]
    assert [(one["id"], one["severity"], one["path"], one["line"]) for one in found] == [
        ("TQ203", "critical", "code/early.py", 2),
        ("TQ101", "warning", "code/worker.py", 7),
    ]
    assert found[1]["evidence"] == "sqs.receive_message asks for 600 s, whatever the work takes"
    assert tenure("audit", "code", "--format", "json").stdout == tenure("audit", "code", "--json").stdout


def test_sarif_is_one_document(tenure: Run, code: Path) -> None:
    log = msgspec.json.decode(tenure("audit", "code", "--format", "sarif").stdout)
    assert [one["ruleId"] for one in log["runs"][0]["results"]] == ["TQ203", "TQ101"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nowhere"], "nowhere"),
        (["jobs.py", "--select", "TQ999"], "there is no rule 'TQ999'"),
        (["jobs.py", "--ignore", "x"], "there is no rule 'x'"),
        ([], "PATH"),
    ],
)
def test_bad_words_are_told(tenure: Run, words: list[str], says: str) -> None:
    result = tenure("audit", *words)
    assert result.exit_code == 2
    assert says in result.stderr


def test_in_a_narrow_terminal_what_rules_mean_stays_beside_their_ids(code: Path) -> None:
    written = StringIO()
    _print_rules(Console(width=40, file=written), audit([str(code)]).findings)
    lines = written.getvalue().splitlines()
    assert all(re.match(r"(TQ\d{3}|     ) \S", line) for line in lines if line.strip())
    assert len(lines) > 10


def test_nothing_is_imported_or_run(tenure: Run, folder: Path) -> None:
    (folder / "bomb.py").write_text("raise SystemExit(9)  # delete_message\nimport nowhere\n")
    assert tenure("audit", "bomb.py").exit_code == 0


def test_the_bar_is_for_terminals_only(tenure: Run, folder: Path) -> None:
    assert tenure("audit", ".").stderr == ""
    ours, theirs = os.openpty()
    with _started_on(theirs) as process:
        assert b"No findings" in process.communicate(timeout=90)[0]
    shown = os.read(ours, 65_536)
    os.close(theirs)
    os.close(ours)
    assert b"audit" in shown
    assert b"1/1" in shown


def _started_on(terminal: int) -> "subprocess.Popen[bytes]":
    environment = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1]), "TERM": "xterm"}
    command = [sys.executable, "-m", "tenure", "audit", "jobs.py"]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=terminal)


def test_a_path_cannot_steer_the_terminal(tenure: Run, folder: Path) -> None:
    (folder / "a\x1b[31m.py").write_text(BAD)
    assert "\x1b" not in tenure("audit", ".").stdout


def test_without_a_path_it_asks_which_code(tenure: Run) -> None:
    refused = tenure("audit")
    assert refused.exit_code == 2
    assert "error[usage]: which code? Name files or folders: tenure audit src" in refused.stderr
