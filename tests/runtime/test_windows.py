"""On Windows nothing that needs POSIX begins: each piece says so, and what to do instead."""

import sys
from pathlib import Path

import pytest

from tenure import ConfigurationError, Tenure
from tenure.adapters.aws import options  # before the machine looks like Windows: what it imports asks too
from tenure.clock import SystemClock


@pytest.fixture(autouse=True)
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")


def test_a_sqlite_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"not on Windows.*nothing was started\. Use WSL 2"):
        Tenure(f"sqlite:///{tmp_path}/jobs.db")
    assert not [*tmp_path.iterdir()]


def test_the_state_of_a_cloud_in_a_local_file_is_refused() -> None:
    assert options.__name__ in sys.modules
    with pytest.raises(ConfigurationError, match="not on Windows"):
        Tenure("sqs://eu-west-1?state=local")


@pytest.mark.real_time
async def test_a_worker_is_refused() -> None:
    app = Tenure("memory://", clock=SystemClock())

    @app.task
    async def work() -> None: ...

    async with app:
        handle = await work.submit()
        with pytest.raises(ConfigurationError, match=r"workers run on Linux and macOS, not on Windows.*Use WSL 2"):
            await app.worker().start()
        assert (await handle.status()).attempt == 0
