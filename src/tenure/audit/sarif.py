"""The report as SARIF 2.1.0: what code hosts and editors show beside the line."""

from typing import Any
from urllib.parse import quote

import msgspec

from tenure.audit.catalogue import RULES
from tenure.audit.report import Located, Report
from tenure.finding import Severity

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(report: Report, version: str | None, *, baseline: bool = True) -> dict[str, Any]:
    """Return one run of SARIF; every rule is described, whether it was met or not."""
    driver = {"name": "tenure audit", "rules": [_rule(rule_id) for rule_id in RULES]}
    run: dict[str, Any] = {
        "tool": {"driver": driver | ({"version": version} if version else {})},
        "columnKind": "unicodeCodePoints",
        "results": [_result(located) for located in report.findings],
        "properties": {"files": report.files, "lines": report.lines, "ignored": report.ignored},
    }
    if baseline:
        run["properties"]["operations"] = [msgspec.structs.asdict(one) for one in report.operations]
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule_id: str) -> dict[str, Any]:
    rule = RULES[rule_id]
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": rule.remedy},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(located: Located) -> dict[str, Any]:
    finding = located.finding
    region = {
        "startLine": located.line,
        "startColumn": located.column,
        "endLine": located.end_line,
        "endColumn": located.end_column,
    }
    place = {"artifactLocation": {"uri": quote(located.path.replace("\\", "/"))}, "region": region}
    return {
        "ruleId": finding.id,
        "ruleIndex": list(RULES).index(finding.id),
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{RULES[finding.id].title}: {finding.evidence}. {finding.remedy}"},
        "locations": [{"physicalLocation": place}],
    }
