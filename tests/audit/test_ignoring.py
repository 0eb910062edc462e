"""Comments that ignore a rule: where they count, and where not."""

import pytest

from tenure.audit import audit_source

CALL = 'sqs.receive_message(QueueUrl="u", VisibilityTimeout=600)'


def _ids(text: str) -> list[str]:
    return [one.finding.id for one in audit_source(text.encode(), "a.py").findings]


@pytest.mark.parametrize(
    "text",
    [
        f"{CALL}  # tenure: ignore[TQ101]",
        f"{CALL}  #tenure: ignore[TQ101,TQ101]",
        f"{CALL}  # noqa  # tenure: ignore[TQ101]",
        f"{CALL}  # tenure:ignore [TQ101]",
        f"# Why it is right here. tenure: nothing\n# tenure: ignore[TQ101]\n{CALL}",
        'sqs.receive_message(\n    QueueUrl="u",\n    VisibilityTimeout=600,  # tenure: ignore[TQ101]\n)',
    ],
)
def test_a_comment_ignores_its_rule_on_its_lines(text: str) -> None:
    report = audit_source(text.encode(), "a.py")
    assert report.findings == []
    assert report.ignored == 1


@pytest.mark.parametrize(
    "text",
    [
        f"{CALL}  # tenure: ignore[TQ102]",
        f"x = 1  # tenure: ignore[TQ101]\n{CALL}",
        f"# tenure: ignore[TQ101]\n\n{CALL}",
        f'x = "# tenure: ignore[TQ101]"; {CALL}',
        f"{CALL}\n# tenure: ignore[TQ101]",
    ],
)
def test_a_comment_elsewhere_or_of_another_rule_ignores_nothing(text: str) -> None:
    assert sorted(set(_ids(text)) - {"TQ903"}) == ["TQ101"]


@pytest.mark.parametrize("words", ["ignore", "ignore[]", "ignore[TQ1]", "ignore[TQ101, nonsense]"])
def test_a_comment_that_names_no_rule_is_told(words: str) -> None:
    assert _ids(f"x = 1  # tenure: {words}") == ["TQ902"]


def test_rules_that_are_not_asked_for_are_not_told() -> None:
    found = audit_source(f"{CALL}  # tenure: ignore".encode(), "a.py", rules=("TQ102",))
    assert (found.findings, found.ignored) == ([], 0)


@pytest.mark.parametrize(
    ("text", "evidence"),
    [
        (f"{CALL}  # tenure: ignore[TQ101, TQ102, TQ203]", "TQ102, TQ203 find nothing here"),
        (f"{CALL}\n# tenure: ignore[TQ101]", "TQ101 finds nothing here"),
        ("x = 1  # tenure: ignore[TQ601]", "TQ601 finds nothing here"),
    ],
)
def test_a_comment_whose_rule_finds_nothing_is_told(text: str, evidence: str) -> None:
    found = [one.finding for one in audit_source(text.encode(), "a.py").findings if one.finding.id == "TQ903"]
    assert [one.evidence for one in found] == [evidence]


def test_a_comment_about_a_rule_that_is_not_looked_for_is_not_called_unused() -> None:
    found = audit_source(f"{CALL}  # tenure: ignore[TQ203]".encode(), "a.py", rules=("TQ102", "TQ903"))
    assert found.findings == []


def test_a_comment_may_be_kept_though_it_hides_nothing() -> None:
    assert _ids("x = 1  # tenure: ignore[TQ101, TQ903]") == []
