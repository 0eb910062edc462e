"""The page of rules says what the catalogue says."""

import re
from pathlib import Path

from tenure import standalone
from tenure.audit import RULES

from .accuracy import table

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "audit.md").read_text(encoding="utf-8")


#: Settings that the advice about Celery, Dramatiq and RQ names.
_OF_OTHERS = {
    "broker_transport_options", "dead_message_ttl", "reject_on_worker_lost", "task_acks_late",
    "task_reject_on_worker_lost", "worker_prefetch_multiplier",
}  # fmt: skip


def _plain(text: str) -> str:
    return " ".join(text.split())


def test_the_table_has_every_rule_in_order() -> None:
    rows = re.findall(r"^\| \[`(TQ\d+)`\]\(#(tq\d+)\) \| (\S+) \| (\S+) \| (.+) \|$", PAGE, re.MULTILINE)
    assert rows == [(rule.id, rule.id.lower(), rule.name, rule.severity.value, rule.title) for rule in RULES.values()]


def test_every_rule_has_a_section_with_why_and_what_to_do() -> None:
    sections = dict(re.findall(r"^## (TQ\d+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
    assert list(sections) == list(RULES)
    for rule in RULES.values():
        text = _plain(sections[rule.id])
        assert text.startswith(f"**{rule.title}.** {rule.severity}, `{rule.name}` {_plain(rule.why)}"), rule.id
        said = f"What to do: {_plain(rule.remedy)} "
        assert said in text, rule.id
        assert len(text.partition(said)[2]) > 40, f"{rule.id}: say when it speaks"


def test_every_piece_that_a_remedy_names_is_there() -> None:
    text = " ".join(rule.remedy for rule in RULES.values())
    named = set(re.findall(r"\b(?:[A-Z][a-z]+){2,}\b|\b[a-z]+(?:_[a-z]+){2,}\b", text))
    pieces = {name.partition(".")[0] for name in named} - {"WaitTimeSeconds"} - _OF_OTHERS
    assert len(pieces) >= 5
    assert pieces <= set(standalone.__all__)


def test_the_page_shows_what_the_audit_finds_in_the_corpus() -> None:
    assert table() in PAGE, "python -m tests.audit.accuracy prints the table"
