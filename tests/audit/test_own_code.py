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
    assert [(one.place, one.finding.id) for one in report.findings] == []
    assert report.operations, "examples of single pieces receive and delete"
