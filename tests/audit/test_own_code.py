"""Tenure holds itself to its rules: its source and its examples, where every exception is said aloud."""

from pathlib import Path

import tenure
from tenure.audit import audit

SOURCE = Path(tenure.__file__).parent
ROOT = Path(__file__).parents[2]


def test_our_source_raises_no_alarm() -> None:
    report = audit([str(SOURCE)])
    assert [(one.place, one.finding.id) for one in report.findings] == []
    assert report.files > 200


def test_our_examples_raise_no_alarm() -> None:
    report = audit([str(ROOT / "examples")])
    found = [(Path(one.path).relative_to(ROOT / "examples").as_posix(), one.finding.id) for one in report.findings]
    # The loop that the pipeline replaces is shown as it was: 600 s, whatever the work takes.
    assert found == [("content_pipeline/before/loop.py", "TQ101")]
    assert report.operations, "examples of single pieces receive and delete"
