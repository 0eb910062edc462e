"""`tenure migrate store`: what an earlier version kept on Azure, told to people and to programs."""

import json
import os

import pytest
from tests.adapters.azure.earlier_data import RECORDED, put_rows, table_of
from tests.servers.azure import shared_azure

from .conftest import Run


@pytest.fixture
def url() -> str:
    """An account in which an earlier version was at work."""
    server, prefix = shared_azure(), f"t{os.urandom(6).hex()}"
    put_rows(table_of(server, prefix), json.loads(RECORDED.read_text(encoding="utf-8"))["rows"])
    return server.url(prefix, "core=rowstore")


def test_a_worker_is_refused_until_all_is_carried_and_each_step_says_what_comes_next(tenure: Run, url: str) -> None:
    refused = tenure("queues", url)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error[not_migrated]: ")
    assert "tenure migrate store" in refused.stderr

    counted = tenure("migrate", "store", url, "--dry-run")
    assert counted.exit_code == 0
    assert "would be carried over; nothing was changed\n  3 dead letters\n  3 completed messages\n" in counted.stdout
    assert "Not carried:\n  events: " in counted.stdout

    done = json.loads(tenure("migrate", "store", url, "--json").stdout)
    assert (done["outcome"], done["carried"]["dead_letters"], done["carried"]["keys"]) == ("carried", 3, 1)
    assert "everything was carried over before" in tenure("migrate", "store", url).stdout
    assert tenure("queues", url).exit_code == 0
    assert len(json.loads(tenure("dead", "list", url, "--json").stdout)["messages"]) == 3


def test_a_store_that_is_read_as_it_is_needs_no_migration(tenure: Run) -> None:
    said = tenure("migrate", "store", "sqlite:///jobs.db")
    assert said.exit_code == 0
    assert "there is nothing to migrate" in said.stdout
    assert tenure("migrate", "store", "nonsense://x").exit_code == 2
