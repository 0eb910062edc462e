"""Which files are read, and that none of them can end the audit."""

import os
from pathlib import Path

import pytest

from tenure.audit import Report, audit
from tenure.audit.source import LARGEST_BYTES, python_files

MISTAKE = b'sqs.receive_message(QueueUrl="u", VisibilityTimeout=600)\n'


def _reasons(report: Report) -> list[str]:
    assert {one.finding.id for one in report.findings} == {"TQ901"}
    return [one.finding.evidence for one in report.findings]


def test_folders_of_others_are_left_out_unless_they_are_named(tmp_path: Path) -> None:
    for folder in ("app", ".venv", "node_modules", "build", "app/__pycache__", "x.egg-info"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "one.py").write_text("")
    assert [Path(one).relative_to(tmp_path).as_posix() for one in python_files([str(tmp_path)])] == ["app/one.py"]
    assert len(python_files([str(tmp_path / "build")])) == 1


def test_a_file_is_read_once_and_by_any_name_if_it_is_named(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "script"):
        (tmp_path / name).write_text("")
    found = python_files([str(tmp_path), str(tmp_path / "a.py"), str(tmp_path / "script")])
    assert [Path(one).name for one in found] == ["a.py", "b.py", "script"]


def test_test_code_is_left_out_and_counted_unless_it_is_asked_for(tmp_path: Path) -> None:
    names = (
        "app/worker.py",
        "app/tests/helper.py",
        "app/test_worker.py",
        "app/worker_test.py",
        "conftest.py",
        "app/latest.py",
    )
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(MISTAKE)
    report = audit([str(tmp_path)])
    assert {Path(one.path).name for one in report.findings} == {"worker.py", "latest.py"}
    assert (report.files, report.tests_left_out) == (2, 4)
    asked = audit([str(tmp_path)], tests=True)
    assert (asked.files, asked.tests_left_out, len({one.path for one in asked.findings})) == (6, 0, 6)


def test_a_test_file_or_folder_that_is_named_is_read(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "worker.py").write_bytes(MISTAKE)
    (tmp_path / "test_one.py").write_bytes(MISTAKE)
    assert audit([str(tmp_path / "tests"), str(tmp_path / "test_one.py")]).files == 2


@pytest.mark.parametrize("pattern", ["*_test.py", "old", "old/", "*/old/*"])
def test_what_is_excluded_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "one_test.py").write_text("")
    (tmp_path / "two.py").write_text("")
    assert python_files(["."], [pattern]) == ["two.py"]


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "again").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "loop.py").symlink_to(tmp_path / "loop.py")
    (tmp_path / "gone.py").symlink_to(tmp_path / "nowhere")
    assert len(_reasons(audit([str(tmp_path)]))) == 2


def test_what_is_no_file_is_told_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert _reasons(audit([str(tmp_path)])) == ["it is not a regular file"]


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").mkdir()
    listed = os.scandir

    def refused(path: str) -> object:
        if str(path).endswith("secret"):
            raise PermissionError(13, "Permission denied", path)
        return listed(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert _reasons(audit([str(tmp_path)])) == ["the folder cannot be listed"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"def broken(:\n", "does not parse"),
        (b"print 'two'\n", "does not parse"),
        (b"x = '\xff'\n", "does not parse"),
        (b"# coding: klingon\n", "does not parse"),
        (b"x = 1\x00\n", "does not parse"),
        (b"x = " + b"(" * 500 + b")" * 500, "does not parse"),
        (b"x = " + b"-" * 200_000 + b"1\n", "nested too deeply"),
        (b"#" * (LARGEST_BYTES + 1), "bytes"),
    ],
    ids=["syntax", "python 2", "bytes", "coding", "null", "brackets", "deep", "large"],
)
def test_a_file_that_cannot_be_parsed_is_told_and_the_rest_is_audited(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    (tmp_path / "a.py").write_bytes(content)
    (tmp_path / "b.py").write_bytes(MISTAKE)
    first, second = audit([str(tmp_path)]).findings
    assert (first.finding.id, second.finding.id) == ("TQ901", "TQ101")
    assert reason in first.finding.evidence


def test_other_encodings_are_read_by_their_cookie(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_bytes(b"# coding: latin-1\nx = '\xe4'; " + MISTAKE)
    (tmp_path / "b.py").write_bytes(b"\xef\xbb\xbfx = '\xc3\xa4'; " + MISTAKE)
    found = audit([str(tmp_path)]).findings
    # Columns are characters, not bytes.
    assert [(one.line, one.column) for one in found] == [(2, 10), (1, 10)]


def test_deep_trees_that_parse_are_audited_or_told(tmp_path: Path) -> None:
    (tmp_path / "chain.py").write_bytes(b"x = " + b"a." * 20_000 + b"b\n" + MISTAKE)
    (tmp_path / "sum.py").write_bytes(b"x = " + b"1 + " * 20_000 + b"1\n" + b"y = x\n" + MISTAKE)
    assert {one.finding.id for one in audit([str(tmp_path)]).findings} <= {"TQ101", "TQ901"}
    assert len(audit([str(tmp_path)]).findings) == 2


def test_warnings_of_the_parser_are_not_passed_on(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "a.py").write_bytes(b'x = "\\d"\n' + MISTAKE)
    assert len(audit([str(tmp_path)]).findings) == 1
    assert not recwarn.list


def test_progress_is_told_file_by_file(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.py").write_text("")
    heard: list[tuple[int, int]] = []
    audit([str(tmp_path)], on_file=lambda done, of: heard.append((done, of)))
    assert heard == [(0, 2), (1, 2), (2, 2)]
