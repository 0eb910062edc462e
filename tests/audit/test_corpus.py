"""Workers as people write them: every mistake is found where it is marked, and nothing else is said.

Files of the corpus carry what is expected at the end of a line: `# expect: TQ101 TQ601`.
"""

from collections import Counter
from pathlib import Path

import pytest

from tenure.audit import RULES, audit

from .accuracy import CORPUS, marked, said

GOOD = sorted((CORPUS / "good").rglob("*.py"))
BAD = sorted((CORPUS / "bad").rglob("*.py"))


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.stem)
def test_a_good_worker_raises_no_alarm(path: Path) -> None:
    assert [(one.place, one.finding.evidence) for one in audit([str(path)]).findings] == []


@pytest.mark.parametrize("path", [path for path in BAD if path.stem != "broken"], ids=lambda path: path.stem)
def test_a_bad_worker_is_told_its_mistakes_and_nothing_else(path: Path) -> None:
    expected = marked(path)
    assert expected
    assert said(path) == expected


def test_a_file_that_does_not_parse_is_told() -> None:
    assert said(CORPUS / "bad" / "broken.py") == {(1, "TQ901")}


def test_every_rule_has_two_bad_samples_or_more() -> None:
    met = Counter(rule for path in BAD for _, rule in marked(path))
    few = {rule for rule in RULES if met[rule] < 2} - {"TQ901"}
    assert not few
    assert len(GOOD) > 15


def test_good_workers_really_use_queues() -> None:
    kinds = Counter(one.kind for one in audit([str(CORPUS / "good")]).operations)
    assert min(kinds[kind] for kind in ("receive", "delete", "extend", "send")) >= 2
    assert kinds["receive"] > 20
