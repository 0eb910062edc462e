"""The live suites really run when they are asked for, and are skipped with their reason when they are not.

The stand-ins take the place of the accounts, by the very same variables.
"""

import os
import subprocess
import sys
from pathlib import Path

import boto3  # type: ignore[import-untyped]
import pytest
from tests.live.asking import AZURE, REASONS, SQS, is_known
from tests.servers.aws import shared_aws
from tests.servers.azure import shared_azure

ROOT = Path(__file__).parents[2]
#: One that sends and settles, one with a lease that ends; a part of each suite of broker and state.
_SOME = "test_one_lease_twice_in_a_batch_takes_effect_once or test_a_message_that_was_completed"


def _run(file: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in (SQS, AZURE)}
    usual = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", f"tests/live/{file}", *words],
        cwd=ROOT, env=kept | usual | {"COLUMNS": "300"} | variables, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(("file", "variable"), [("test_live_sqs.py", SQS), ("test_live_azure.py", AZURE)])
def test_nobody_is_charged_who_did_not_ask(file: str, variable: str) -> None:
    run = _run(file, CI="true")
    assert REASONS[variable] in run.stdout
    assert "1 skipped" in run.stdout
    assert "CI: a skipped test fails the run" not in run.stdout


def test_no_other_skip_passes_for_one_of_these(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SQS, raising=False)
    skip = str(("tests/live/test_live_sqs.py", 7, f"Skipped: {REASONS[SQS]}"))
    assert is_known(skip, "tests/live/test_live_sqs.py")
    assert not is_known(skip, "tests/conformance/test_sqs.py")
    assert not is_known(str(("f", 7, "Skipped: fauxqs is not installed")), "tests/live/test_live_sqs.py")
    monkeypatch.setenv(SQS, "sqs://eu-west-1")
    assert not is_known(skip, "tests/live/test_live_sqs.py")


def test_asked_for_it_runs_on_sqs_and_leaves_nothing_behind() -> None:
    server = shared_aws("ministack")
    run = _run("test_live_sqs.py", "-k", _SOME, TENURE_LIVE_SQS=f"sqs://eu-west-1?endpoint={server.url}")
    assert run.returncode == 0, run.stdout
    words = {"region_name": "eu-west-1", "endpoint_url": server.url, "aws_access_key_id": "t",
             "aws_secret_access_key": "t"}  # fmt: skip
    assert boto3.client("sqs", **words).list_queues(QueueNamePrefix="tl").get("QueueUrls", []) == []
    assert not [name for name in boto3.client("dynamodb", **words).list_tables()["TableNames"] if name[:2] == "tl"]


def test_asked_for_it_runs_on_azure() -> None:
    run = _run("test_live_azure.py", "-k", _SOME, TENURE_LIVE_AZURE=shared_azure().url("any"))
    assert run.returncode == 0, run.stdout
