"""Examples of single pieces on bare clients: as they stand, on stand-ins that the SDKs find by the environment."""

import os
from pathlib import Path

import pytest
from tests.standalone.environment import aws_environment, azure_environment

from .program import refused, run

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
        "deleted: True",
        "extended: True - last error: None",
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


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("standalone_heartbeat.py", "AWS_DEFAULT_REGION"),
        ("standalone_async_sqs.py", "AWS_DEFAULT_REGION"),
        ("standalone_deletion.py", "AZURE_STORAGE_CONNECTION_STRING"),
        ("standalone_deduplication.py", "AZURE_STORAGE_CONNECTION_STRING"),
    ],
)
@pytest.mark.parametrize("region", ["", "eu-west-1"])
def test_without_credentials_one_sentence_says_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, region: str
) -> None:
    for known in [known for known in os.environ if known.startswith(("AWS_", "AZURE_"))]:
        monkeypatch.delenv(known)
    monkeypatch.setenv("HOME", str(tmp_path))  # no shared files either
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    if region:
        monkeypatch.setenv("AWS_DEFAULT_REGION", region)
    (said,) = refused(name, tmp_path)
    assert said.startswith("Set ")
    assert variable in said
