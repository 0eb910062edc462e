"""The content pipeline on Redis, Azurite and a stand-in for SQS, by the URL alone; and beside the loop of before."""

import re
from pathlib import Path

import pytest
from tests.servers.aws import shared_aws
from tests.servers.azure import shared_azure
from tests.servers.shared import shared

from .test_content_pipeline import check_run, run_pipeline

pytestmark = [pytest.mark.scenario, pytest.mark.cloud, pytest.mark.timeout(1000)]


def _url(store: str) -> str:
    match store:
        case "redis":
            return shared("valkey9").url
        case "sqs":
            return f"sqs://eu-west-1?endpoint={shared_aws('ministack').url}&create=yes"
        case _:
            return shared_azure().url("pipeline")


@pytest.mark.parametrize("store", ["redis", "sqs", "azure"])
def test_it_loses_nothing_on_another_store(tmp_path: Path, store: str) -> None:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    check_run(run_pipeline(tmp_path, _url(store), **keys), tmp_path / "trial" / "after" / "public")


def test_before_and_after_are_measured_side_by_side(tmp_path: Path) -> None:
    lines = run_pipeline(tmp_path, "--compare")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| ")]
    rows = {name: (before, after) for name, before, after in cells}
    assert rows["pages on the site"] == ("200", "200")
    assert rows["told to readers twice"][1] == rows["lost"][1] == "0"
    before, after = rows["what a killed worker held is back after"]
    assert before.startswith("10 min")
    assert re.fullmatch(r"[\d.]+ s", after)
    assert lines[-1] == "pages 200 · duplicates 0 · lost 0"
