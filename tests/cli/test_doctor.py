"""`tenure doctor`: a page for people, JSON for programs, and an exit code."""

import signal
from pathlib import Path

import msgspec
import pytest
from tests.servers import start_redis

from tenure.client.operations.doctor.diagnosis import Check, Diagnosis, Outcome
from tenure.examination import Area
from tenure.finding import Finding, Severity

from .conftest import Run
from .process import started


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_SWEEP_INTERVAL", "0.2")


def _found(text: str) -> Diagnosis:
    return msgspec.json.decode(text, type=Diagnosis)


def test_the_page_and_the_exit_code(tenure: Run) -> None:
    alone = tenure("doctor", "jobs:app")
    assert alone.exit_code == 1
    page = alone.stdout.splitlines()
    assert page[0] == "Doctor  sqlite:///jobs.db"
    assert "  ✓ durability           synchronous=full" in page
    assert "  ! queues served        0 of 2 queues by 0 workers" in page
    place = page.index("warning  queue_unserved  queue slow")
    assert page[place + 1 : place + 3] == [
        "  no worker serves it",
        "  → Start a worker for it: tenure worker jobs:app --queue slow",
    ]
    assert page[-1].startswith("Not well: 17 checks, 3 warnings")
    assert tenure("doctor", "jobs:app", "--fail-on", "critical").exit_code == 0
    assert tenure("doctor", "jobs:app", "--fail-on", "never").exit_code == 0
    with started("worker", "jobs:app") as worker:
        worker.says("runs 4 tasks")
        sound = tenure("doctor", "jobs:app")
        assert (sound.exit_code, sound.stdout.splitlines()[-1].partition(":")[0]) == (0, "All well")
        worker.send(signal.SIGTERM)
        worker.ends()


def test_json_is_the_diagnosis(tenure: Run) -> None:
    ran = tenure("doctor", "jobs:app", "--json")
    found = _found(ran.stdout)
    assert ran.exit_code == 1
    assert not found.healthy
    assert {one.id for one in found.findings} >= {"queue_unserved", "sweep_missing"}
    assert {one.outcome for one in found.checks} <= {Outcome.WELL, Outcome.INFO, Outcome.WARNING}


def test_a_store_that_is_away_cannot_be_looked_at(tenure: Run, tmp_path_factory: pytest.TempPathFactory) -> None:
    with start_redis("valkey9", tmp_path_factory.mktemp("valkey")) as server:
        url = server.url
        tenure("submit", url, "nap", "{}", "--create")
    away = tenure("doctor", url)
    assert away.exit_code == 2
    assert "? store                could not be checked: Redis at 127.0.0.1" in away.stdout
    assert away.stdout.splitlines()[-1] == "Could not look: 1 check, 1 could not be checked."
    found = _found(tenure("doctor", url, "--json").stdout)
    assert (found.healthy, [one.outcome for one in found.checks]) == (False, [Outcome.FAILED])


def test_bad_input_is_told_from_bad_health(tenure: Run) -> None:
    assert tenure("doctor", "sqlite:///nowhere.db").exit_code == 2
    assert tenure("doctor", "jobs:nothing").exit_code == 2
    assert tenure("doctor", "jobs:app", "--fail-on", "bad").exit_code == 2


def test_secrets_are_not_shown(tenure: Run, tmp_path_factory: pytest.TempPathFactory, folder: Path) -> None:
    rules = ["requirepass hush-hush"]
    with start_redis("valkey9", tmp_path_factory.mktemp("valkey"), config=rules) as server:
        url = f"redis://:hush-hush@127.0.0.1:{server.port}/0"
        (folder / "locked.py").write_text(f"from tenure import Tenure\n\napp = Tenure({url!r})\n")
        for words in (["locked:app"], ["locked:app", "--json"]):
            assert "hush" not in tenure("doctor", *words).output


def test_a_finding_counts_before_a_check_that_broke_off() -> None:
    from tenure.cli.commands.doctor.command import exit_code

    failed = Check(id="store", area=Area.STORE, title="store", outcome=Outcome.FAILED, seen="no answer")
    unknown = Check(id="eviction", area=Area.STORE, title="eviction", outcome=Outcome.UNKNOWN, seen="not told")
    finding = Finding("tls_off", Severity.WARNING, "here", "seen", "do")

    def code(*parts: Check | Finding, fail_on: str = "warning") -> int:
        checks = tuple(one for one in parts if isinstance(one, Check))
        findings = tuple(one for one in parts if isinstance(one, Finding))
        found = Diagnosis(healthy=False, store="", at=0.0, checks=checks, findings=findings)
        return exit_code(found, fail_on)

    assert (code(finding, failed), code(failed), code(unknown), code()) == (1, 2, 0, 0)
    assert code(finding, fail_on="critical") == 0
    assert code(finding, failed, fail_on="never") == 2
