"""Wrong wall clocks against real servers, in real time: the server's own clock is learned from its answers.

What must hold is in `WallTime` and `Timekeeping` of the conformance suites, in virtual time. Here is what virtual time
cannot show: that `TIME` and `Date` are read rightly.
"""

import logging
import os
from collections.abc import Callable, Iterator

import pytest
from tests.scenarios.sqs_ground import SqsGround
from tests.servers import installed
from tests.servers.azure import is_azure_installed, shared_azure
from tests.servers.shared import shared

from tenure import Tenure
from tenure.clock import SYSTEM_CLOCK, SystemClock
from tenure.message import MessageState

pytestmark = pytest.mark.real_time

HOUR = 3600.0


class Wrong(SystemClock):
    """A machine whose wall clock is ahead by so many seconds."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def wall(self) -> float:
        return super().wall() + self._ahead


def _redis() -> Iterator[str]:
    yield f"{shared('valkey9').url}?prefix=t{os.urandom(6).hex()}"


def _sqs(options: str = "") -> Iterator[str]:
    ground = SqsGround()
    yield ground.url(options)
    ground.close()


def _azure() -> Iterator[str]:
    yield shared_azure().url(f"t{os.urandom(6).hex()}")


PLACES: dict[str, Callable[[], Iterator[str]]] = {"sqs": _sqs}
if "valkey9" in installed():
    PLACES["redis"] = _redis
    PLACES["sqs-state-redis"] = lambda: _sqs(f"state={shared('valkey9').url}")
if is_azure_installed():
    PLACES["azure"] = _azure


_CLOUD = [pytest.mark.cloud, pytest.mark.timeout(400)]


@pytest.fixture(params=[pytest.param(name, marks=() if name == "redis" else _CLOUD) for name in PLACES])
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh place on each kind of server that there is."""
    yield from PLACES[request.param]()


def _app(url: str, ahead: float) -> Tenure:
    app = Tenure(url, clock=Wrong(ahead))

    @app.task(name="work")
    async def work() -> str:
        return "done"

    return app


@pytest.mark.parametrize(("sender_ahead", "worker_ahead"), [(-HOUR, HOUR), (HOUR, -HOUR)])
async def test_what_is_fresh_is_run_whatever_clocks_show(
    url: str, sender_ahead: float, worker_ahead: float, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    sender, other = _app(url, sender_ahead), _app(url, worker_ahead)
    handle = await sender.submit("work", expires=600.0)
    assert sender.state.wall() == pytest.approx(SYSTEM_CLOCK.wall(), abs=1.6)
    async with other.worker() as worker:
        assert await handle.result(timeout=60) == "done"
        assert (await handle.status()).state is MessageState.COMPLETED
        assert other.state.wall() == pytest.approx(SYSTEM_CLOCK.wall(), abs=1.6)
        (found,) = [one for one in worker.findings if one.id == "clock_skew"]
        assert ("ahead of" if worker_ahead > 0 else "behind") in found.evidence
    assert len([one for one in caplog.records if one.name == "tenure.clocks"]) == 1
    await sender.close()
    await other.close()
