"""SARIF 2.1.0: what the specification requires of a log, a run, a rule, a result and a region."""

from pathlib import Path
from typing import Any

import msgspec

from tenure.audit import RULES, audit
from tenure.audit.sarif import sarif

CORPUS = Path(__file__).parent / "corpus"


def _log(path: Path, **options: Any) -> dict[str, Any]:
    encoded = msgspec.json.encode(sarif(audit([str(path)]), "1.2.3", **options))
    log = msgspec.json.decode(encoded)
    assert isinstance(log, dict)
    return log


def test_a_log_has_what_is_required() -> None:
    log = _log(CORPUS / "bad")
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"]
    assert driver["version"] == "1.2.3"
    assert run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")


def test_every_rule_is_described_once() -> None:
    rules = _log(CORPUS / "good")["runs"][0]["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(RULES)
    for rule in rules:
        assert rule["defaultConfiguration"]["level"] in ("none", "note", "warning", "error")
        assert all(rule[part]["text"] for part in ("shortDescription", "fullDescription", "help"))


def test_every_result_points_to_its_rule_and_a_region() -> None:
    (run,) = _log(CORPUS / "bad")["runs"]
    assert len(run["results"]) > 40
    for result in run["results"]:
        rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
        assert rule["id"] == result["ruleId"]
        assert result["level"] == rule["defaultConfiguration"]["level"]
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert "\\" not in place["artifactLocation"]["uri"]
        region = place["region"]
        assert all(region[edge] >= 1 for edge in ("startLine", "startColumn", "endLine", "endColumn"))
        start, end = (region["startLine"], region["startColumn"]), (region["endLine"], region["endColumn"])
        assert start <= end


def test_a_region_is_the_call_itself(tmp_path: Path) -> None:
    text = 'x = "ä"; q.receive_message(QueueUrl="ä", VisibilityTimeout=9)'
    (tmp_path / "a b.py").write_text(text, encoding="utf-8")
    (result,) = _log(tmp_path)["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    region = place["region"]
    assert text[region["startColumn"] - 1 : region["endColumn"] - 1] == text.partition("; ")[2]
    assert place["artifactLocation"]["uri"].endswith("/a%20b.py")


def test_nothing_found_is_an_empty_list_of_results() -> None:
    (run,) = _log(CORPUS / "good", baseline=False)["runs"]
    assert run["results"] == []
    assert "operations" not in run["properties"]
