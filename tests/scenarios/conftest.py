"""Every test here is a scenario: real processes, which are ended with the test."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.selection import must_run_alone
from tests.servers import Proxy, RedisServer

from .grounds import SQLITE, Ground, RedisGround, Servers, make_ground
from .stage import Stage

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them all, so that none can run beside others by mistake."""
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.scenario)
            if must_run_alone(item):
                item.add_marker(pytest.mark.alone)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """In a soak whose time is over, the rest is left out."""
    until = float(os.environ.get("SOAK_UNTIL", "inf"))
    if item.path.is_relative_to(_HERE) and time.monotonic() > until:
        pytest.skip("the time is over")


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """Those that no scenario harms."""
    servers = Servers(tmp_path_factory.mktemp("servers"))
    yield servers
    servers.stop()


@pytest.fixture
def ground(request: pytest.FixtureRequest, tmp_path: Path, servers: Servers) -> Iterator[Ground]:
    """Where the stage stands, as the test says by `grounds.on`."""
    ground = make_ground(getattr(request, "param", SQLITE), tmp_path, servers)
    try:
        yield ground
    finally:
        ground.close()


@pytest.fixture
def server(ground: Ground) -> RedisServer:
    """The server that the stage stands on."""
    assert isinstance(ground, RedisGround), "there is no server under this stage"
    return ground.server


@pytest.fixture
def way(ground: Ground) -> Iterator[Proxy]:
    """The only way of the workers to their server; the test has its own."""
    assert isinstance(ground, RedisGround)
    with Proxy(ground.server.port) as proxy:
        ground.detour = proxy.port
        yield proxy


@pytest.fixture
def stage(tmp_path: Path, ground: Ground) -> Iterator[Stage]:
    """A stage of its own for each test; nothing that was started on it outlives the test."""
    stage = Stage(tmp_path, ground)
    try:
        yield stage
    finally:
        stage.close()
    stage.check_durations()
