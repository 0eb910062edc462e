"""The files of deploy/logs, fed with lines that a real worker logged.

Vector's program runs in Vector's own language (pyvrl). Neither Vector nor Fluent Bit themselves are on PyPI, npm or
Debian: their files are read here, every part against the names that their documentation has.
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.process import SOON

_ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.scenario  # a real worker logs
_LOGS = _ROOT / "deploy" / "logs"
_has_vrl = pytest.mark.skipif(
    importlib.util.find_spec("pyvrl") is None, reason="not applicable: Vector's language has no wheel for this Python"
)
_JOBS = """
from tenure import Context, Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(max_attempts=1)
async def pay(ctx: Context, order: int) -> None:
    ctx.log.info("looking for order %d", order)
    if order == 7:
        raise LookupError(f"no order {order}")
"""


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Sequence[str]:
    """What a worker logs of a run that ends well and one that does not; and a line that is no JSON."""
    folder = tmp_path_factory.mktemp("logs")
    (folder / "jobs.py").write_text(_JOBS)

    def tenure(*words: str) -> str:
        told = subprocess.run(
            [sys.executable, "-m", "tenure", *words],
            cwd=folder, check=True, capture_output=True, text=True, timeout=SOON,
        )  # fmt: skip
        return told.stderr

    for order in (7, 8):
        tenure("submit", "jobs:app", "pay", f'{{"order": {order}}}', "--correlation-id", f"order-{order}")
    logged = tenure("worker", "jobs:app", "--until-empty", "--log", "json", "--log-events", "tenure", "--detail", "1")
    return [*logged.splitlines(), "Fatal Python error: Segmentation fault"]


def _vector() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((_LOGS / "vector.yaml").read_text("utf-8"))
    return found


def _remap(records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    from pyvrl import Transform  # type: ignore[import-untyped,import-not-found,unused-ignore]

    program = Transform(_vector()["transforms"]["tenure"]["source"])
    return [program.remap(dict(one)) for one in records]


@_has_vrl
def test_vector_makes_an_object_of_every_line(lines: Sequence[str]) -> None:
    journal = {"host": "a1", "_SYSTEMD_UNIT": "tenure-worker@acme.service", "PRIORITY": "6"}
    found = _remap([{"message": line, **journal} for line in lines])
    *logged, fatal = found
    assert (fatal["message"], fatal["level"]) == (lines[-1], "unknown")
    for line, made in zip(lines, logged, strict=False):
        own = json.loads(line)
        at = datetime.fromisoformat(own.pop("at"))
        stamp = made.pop("timestamp")
        assert (stamp if isinstance(stamp, datetime) else datetime.fromisoformat(stamp)) == at
        assert made == {**own, "host": "a1", "unit": "tenure-worker@acme.service"}
    (dead,) = [one for one in logged if one.get("event") == "dead"]
    assert dead["task"] == "pay"
    assert any(one["level"] == "error" and one["correlation_id"] == "order-7" for one in logged if "level" in one)


@_has_vrl
def test_a_field_of_the_line_wins_nothing_from_a_file_that_has_no_unit(lines: Sequence[str]) -> None:
    (found,) = _remap([{"message": lines[0], "host": "a1", "file": "/var/log/tenure/worker.log"}])
    assert (found["file"], "unit" in found) == ("/var/log/tenure/worker.log", False)


@_has_vrl
def test_a_mistake_in_the_program_is_found() -> None:
    from pyvrl import Transform

    with pytest.raises(ValueError, match="undefined function"):
        Transform(". = parse_jsn!(.message)")


@_has_vrl
def test_vector_keeps_events_and_what_went_wrong(lines: Sequence[str]) -> None:
    from pyvrl import Transform

    condition = Transform(f'. = {{"kept": {_vector()["transforms"]["kept"]["condition"]}}}\n.')
    found = _remap([{"message": line} for line in lines])
    for one in found:
        one.pop("timestamp", None)  # pyvrl gives times out, and takes none
    for one in found:
        is_kept = "event" in one or one["level"] in ("warning", "error", "critical", "unknown")
        assert condition.remap(dict(one))["kept"] == is_kept
    assert {condition.remap(dict(one))["kept"] for one in found} == {True, False}


_COMPONENTS = {
    "sources": {"journald": {"include_matches"}, "file": {"include", "max_line_bytes"}},
    "transforms": {"remap": {"inputs", "source", "drop_on_error"}, "filter": {"inputs", "condition"}},
    "sinks": {
        "http": {"inputs", "uri", "encoding", "framing", "compression", "buffer"},
        "file": {"inputs", "path", "encoding", "compression"},
    },
}


def test_vector_s_parts_are_known_and_lead_from_a_source_to_a_sink() -> None:
    config = _vector()
    assert set(config) == {"data_dir", *_COMPONENTS}
    names = {name for kind in ("sources", "transforms") for name in config[kind]}
    for kind, types in _COMPONENTS.items():
        for part in config[kind].values():
            assert set(part) - {"type"} <= types[part["type"]]
            assert set(part.get("inputs", ())) <= names
    used = {name for kind in ("transforms", "sinks") for part in config[kind].values() for name in part["inputs"]}
    assert used == names, "nothing is read and forgotten"


def _fluent_bit() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load((_LOGS / "fluent-bit.yaml").read_text("utf-8"))
    return found


def test_fluent_bit_reads_the_time_of_every_line(lines: Sequence[str]) -> None:
    (parser,) = _fluent_bit()["parsers"]
    assert (parser["format"], parser["time_key"]) == ("json", "at")
    python_format = parser["time_format"].replace("%L", "%f")
    for line in lines[:-1]:
        at = json.loads(line)["at"]
        assert datetime.strptime(at, python_format) == datetime.fromisoformat(at)  # noqa: DTZ007 - %z is in it


def test_fluent_bit_s_inputs_reach_its_output_through_the_parser() -> None:
    config = _fluent_bit()
    pipeline, (parser,) = config["pipeline"], config["parsers"]
    assert set(config) == {"service", "parsers", "pipeline"}
    assert {one["name"] for one in pipeline["inputs"]} == {"systemd", "tail"}
    (only,) = pipeline["filters"]
    assert (only["name"], only["parser"], only["key_name"]) == ("parser", parser["name"], "message")
    for part in (*pipeline["filters"], *pipeline["outputs"]):
        pattern = re.compile(part["match"].replace(".", r"\.").replace("*", ".*"))
        assert all(pattern.fullmatch(one["tag"]) for one in pipeline["inputs"])
    journal = next(one for one in pipeline["inputs"] if one["name"] == "systemd")
    # MESSAGE of the journal is the key that the filter reads.
    assert (journal["lowercase"], journal["strip_underscores"]) == (True, True)


def test_the_shippers_look_for_the_identifiers_that_the_units_write() -> None:
    unit = (_LOGS / "journald" / "worker.conf").read_text("utf-8")
    (identifier,) = re.findall(r"(?m)^SyslogIdentifier=(\S+)$", unit)
    assert identifier in _vector()["sources"]["journal"]["include_matches"]["SYSLOG_IDENTIFIER"]
    journal = next(one for one in _fluent_bit()["pipeline"]["inputs"] if one["name"] == "systemd")
    assert f"SYSLOG_IDENTIFIER={identifier}" in journal["systemd_filter"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="not applicable: no systemd on this machine")
def test_systemd_knows_every_key_of_the_drop_in(tmp_path: Path) -> None:
    from tests.deploy.test_systemd import _analyze, _copied

    unit = _copied(tmp_path, "tenure-worker@.service")
    whole = unit.read_text("utf-8") + (_LOGS / "journald" / "worker.conf").read_text("utf-8")
    unit.write_text(whole, encoding="utf-8")
    assert _analyze("verify", str(unit)).stderr == ""
    unit.write_text(whole.replace("LogRateLimitIntervalSec", "LogRateLimitSec"), encoding="utf-8")
    assert "LogRateLimitSec" in _analyze("verify", str(unit)).stderr


#: Of journald.conf(5), as far as they are of use here.
_JOURNAL_KEYS = frozenset({
    "Storage", "Compress", "SystemMaxUse", "SystemKeepFree", "MaxRetentionSec", "MaxFileSec", "LineMax",
    "RateLimitIntervalSec", "RateLimitBurst", "SyncIntervalSec",
})  # fmt: skip


def test_journald_s_keys_are_known_and_its_lines_hold_a_traceback(lines: Sequence[str]) -> None:
    text = (_LOGS / "journald" / "tenure.conf").read_text("utf-8")
    found = dict(re.findall(r"(?m)^([A-Za-z]+)=(\S+)$", text))
    assert set(found) <= _JOURNAL_KEYS
    most = int(found["LineMax"].removesuffix("K")) * 1024
    assert all(len(line) < most for line in lines)
    assert _vector()["sources"]["files"]["max_line_bytes"] == most
