"""Opening an app while its broker is away: it waits for an outage, and for nothing else."""

import asyncio
import logging

import pytest

from tenure import BrokerUnavailable, Tenure
from tenure.client.broker_wait import open_when_there
from tenure.errors import ConfigurationError, QueueGone, TenureError
from tenure.testing.virtual import VirtualClock


class Opening:
    """Away for so many seconds of the loop's time, then there."""

    def __init__(self, seconds: float, error: TenureError | None = None) -> None:
        self.there_at = asyncio.get_running_loop().time() + seconds
        self.error = error or BrokerUnavailable("it is away")
        self.tries = 0

    async def __call__(self) -> None:
        self.tries += 1
        if asyncio.get_running_loop().time() < self.there_at:
            raise self.error


async def test_it_waits_until_the_broker_is_there_and_says_so_once(
    caplog: pytest.LogCaptureFixture, virtual_clock: VirtualClock
) -> None:
    caplog.set_level(logging.INFO, "tenure.app")
    opening = Opening(7.0)
    await open_when_there(opening, 30.0, virtual_clock)
    assert opening.tries > 5
    said = [record.getMessage() for record in caplog.records]
    assert said[0] == "waiting up to 30 s for the broker: it is away"
    assert [line.partition(",")[0] for line in said[1:]] == ["the broker is there"]


async def test_a_broker_that_is_there_is_not_mentioned(
    caplog: pytest.LogCaptureFixture, virtual_clock: VirtualClock
) -> None:
    caplog.set_level(logging.INFO, "tenure.app")
    await open_when_there(Opening(0.0), 30.0, virtual_clock)
    assert not caplog.records


async def test_when_the_time_is_over_the_outage_is_raised(virtual_clock: VirtualClock) -> None:
    began = asyncio.get_running_loop().time()
    with pytest.raises(BrokerUnavailable, match="it is away") as raised:
        await open_when_there(Opening(3600.0), 30.0, virtual_clock)
    assert asyncio.get_running_loop().time() - began == pytest.approx(30.0)
    assert raised.value.__notes__ == ["waited 30 s for it"]


@pytest.mark.parametrize("error", [ConfigurationError("wrong password"), QueueGone("no such queue")])
async def test_what_is_no_outage_is_raised_at_once(error: TenureError, virtual_clock: VirtualClock) -> None:
    opening = Opening(3600.0, error)
    with pytest.raises(type(error)):
        await open_when_there(opening, 30.0, virtual_clock)
    assert opening.tries == 1


@pytest.mark.parametrize("given", [True, False], ids=["argument", "setting"])
async def test_no_wait_is_one_try(given: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not given:
        monkeypatch.setenv("TENURE_WAIT_FOR_BROKER", "0")
    app = Tenure("memory://")
    opening = Opening(3600.0)
    monkeypatch.setattr(app.broker, "open", opening)
    with pytest.raises(BrokerUnavailable):
        await app.open(wait_for_broker=0 if given else None)
    assert opening.tries == 1


async def test_an_embedded_worker_waits_too_and_a_submit_does_not(
    monkeypatch: pytest.MonkeyPatch, virtual_clock: VirtualClock
) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.task
    async def add(a: int, b: int) -> int:
        return a + b

    opening = Opening(5.0)
    monkeypatch.setattr(app.broker, "open", opening)
    with pytest.raises(BrokerUnavailable):
        await add.submit(1, 2)
    assert opening.tries == 1
    async with app, app.worker():
        assert await (await add.submit(1, 2)).result(timeout=60) == 3


async def test_a_state_that_is_away_leaves_no_broker_open(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Tenure("memory://")
    balance = [0]

    async def opened() -> None:
        balance[0] += 1

    async def closed() -> None:
        balance[0] -= 1

    monkeypatch.setattr(app.broker, "open", opened)
    monkeypatch.setattr(app.broker, "close", closed)
    monkeypatch.setattr(app.state, "open", Opening(3600.0))
    with pytest.raises(BrokerUnavailable):
        await app.open(wait_for_broker=0)
    assert balance == [0]
