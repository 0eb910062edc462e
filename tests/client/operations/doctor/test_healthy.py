"""On a sound set-up the doctor finds nothing, on every store."""

import os
from pathlib import Path

import pytest
from tests.servers import start_redis
from tests.servers.aws import shared_aws
from tests.servers.azure import shared_azure

from tenure.client.operations.doctor.diagnosis import Outcome
from tenure.examination import Examination
from tenure.testing.virtual import VirtualClock

from .setups import OF_THIS_MACHINE, app_at, diagnosed, of_set_up, working


@pytest.mark.real_time
@pytest.mark.parametrize("store", ["sqlite", "valkey9", "ministack", "azurite"])
async def test_nothing_is_found_on_a_sound_set_up(store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"d{os.urandom(6).hex()}"
    if store == "valkey9":
        with start_redis("valkey9", tmp_path, appendonly=True) as server:
            found = await diagnosed(server.url)
    else:
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        urls = {
            "sqlite": lambda: f"sqlite:///{tmp_path}/jobs.db",
            "ministack": lambda: (
                f"sqs://eu-west-1?endpoint={shared_aws('ministack').url}&prefix={name}&table={name}&create=yes"
            ),
            "azurite": lambda: shared_azure().url(name),
        }
        found = await diagnosed(urls[store]())
    assert of_set_up(found) == []
    assert {one.outcome for one in found.checks if not OF_THIS_MACHINE & {*one.findings}} == {Outcome.WELL}
    assert found.healthy


async def test_nothing_is_found_in_memory(virtual_clock: VirtualClock) -> None:
    found = await diagnosed("memory://", clock=virtual_clock)
    assert (found.healthy, found.findings) == (True, ())


async def test_a_check_that_breaks_off_hides_no_other(virtual_clock: VirtualClock) -> None:
    """Such as one of a broker of others, or of an operating system that answers as no other does."""

    class Broken:
        async def examine(self, _: object) -> list[Examination]:
            raise KeyError("TimeToLiveDescription")

    app = app_at("memory://", clock=virtual_clock)
    async with working(app):
        app.broker.examine = Broken().examine  # type: ignore[attr-defined]
        found = await app.operate.doctor()
    broken = [one for one in found.checks if one.outcome is Outcome.FAILED]
    assert [(one.id, one.seen) for one in broken] == [("store", "KeyError: 'TimeToLiveDescription'")]
    assert {"writing", "sweep", "settings"} <= {one.id for one in found.checks}
    assert not found.healthy
