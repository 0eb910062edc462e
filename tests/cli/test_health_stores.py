"""`tenure health` on every store: with a worker, and with one that is listed and does not sweep."""

import asyncio
import os
from pathlib import Path

import pytest
from tests.servers.aws import shared_aws
from tests.servers.azure import shared_azure
from tests.servers.shared import shared

from tenure import Tenure
from tenure.client.operations.health import examine
from tenure.config import Settings
from tenure.owner import Owner

STORES = ["sqlite", "valkey9", "ministack", "azurite"]


def url_of(store: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A place that nobody else has."""
    name = f"h{os.urandom(6).hex()}"
    match store:
        case "sqlite":
            return f"sqlite:///{folder}/health.db"
        case "valkey9":
            return f"redis://127.0.0.1:{shared('valkey9').port}/0?prefix={name}"
        case "ministack":
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
            monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
            return f"sqs://eu-west-1?endpoint={shared_aws('ministack').url}&prefix={name}-&table={name}&create=yes"
    return shared_azure().url(name)


@pytest.mark.real_time
@pytest.mark.parametrize("store", STORES)
async def test_health_is_told_on_every_store(store: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Tenure(url_of(store, folder, monkeypatch), settings=Settings(sweep_interval_seconds=1.0))

    @app.task(queue="slow")
    async def nap() -> None:
        pass

    async with app:
        assert (await examine(app.operate.access, ["slow"], here=True)).problems == ("no worker serves queue slow",)
        async with app.worker():
            found = await examine(app.operate.access, ["slow"], here=True)
            assert (found.healthy, found.queues, found.sweep) == (True, {"slow": 1}, True)
        while not await app.state.board.take_turn("sweep", "test", 3600.0):  # noqa: ASYNC110 - it lapses with time
            await asyncio.sleep(0.05)
        await app.state.board.take_turn("sweep", "test", 0.0)
        await app.state.roster.join(Owner("listed", "1", queues=("slow",)))
        found = await examine(app.operate.access, ["slow"], here=False)
        assert (found.healthy, found.queues, found.sweep) == (False, {"slow": 1}, False)
