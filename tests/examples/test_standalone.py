"""Examples of single pieces on bare clients: as they stand, on stand-ins that the SDKs find by the environment."""

from pathlib import Path

import pytest
from tests.standalone.environment import aws_environment, azure_environment

from .program import run

pytestmark = pytest.mark.scenario


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in aws_environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def azure(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in azure_environment().items():
        monkeypatch.setenv(name, value)


def test_timeouts_from_estimates_and_measurements(tmp_path: Path) -> None:
    assert run("standalone_timeout.py", tmp_path) == [
        "content-collector: 180 s, if it gets slow 540 s",
        "content-processor: 90 s, if it gets slow 210 s",
        "markdown-generator: 60 s, if it gets slow 120 s",
        "site-publisher: 180 s, if it gets slow 540 s",
        "risk of one run: OK",
        "thumbnailer: 60 s, because q99 20.0 s of 1000 measured operations × 1.75",
        "24 s is too short",
        "60 s is enough",
    ]


def test_a_heartbeat_by_boto3(tmp_path: Path, aws: None) -> None:
    assert run("standalone_heartbeat.py", tmp_path) == [
        "match.mp4 is done",
        "meanwhile others received: None",
        "extended: True - last error: None",
        "deleted: (True, None)",
    ]


def test_deletions_by_the_sync_azure_sdk(tmp_path: Path, azure: None) -> None:
    assert run("standalone_deletion.py", tmp_path) == [
        "deleted: (True, None)",
        "verified: True",
        "deleted: False - already_gone",
        "100 % of 10: {'deleted': 10}",
    ]


def test_deduplication_by_the_async_azure_sdk(tmp_path: Path, azure: None) -> None:
    assert sorted(run("standalone_deduplication.py", tmp_path)) == [
        "a later one deletes order-17: it was done",
        "a worker charges order-17",
        "a worker leaves order-17: somebody else is at it",
    ]


def test_a_loop_by_aiobotocore(tmp_path: Path, aws: None) -> None:
    charged, deleted, met = run("standalone_async_sqs.py", tmp_path)
    assert charged == "charged: ['order-1', 'order-2', 'order-3']"
    assert deleted == "deleted: {'deleted': 6}"
    assert int(met.split()[2]) >= 3
