"""What the tests of the command line share: a folder with an app in it, and a way to run `tenure` there.

Commands run their own event loop, so these tests are sync. `tenure` runs in process, through the same door as
the console script; `process.py` starts real ones.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from tenure.cli.root import root

JOBS = """
import asyncio

from tenure import Context, Tenure

app = Tenure("sqlite:///jobs.db")


@app.task(max_attempts=2, first_delay=0.05, reject_on=(ValueError,))
async def resize(ctx: Context, image: str, width: int = 800) -> str:
    if image == "broken":
        raise ValueError("no such image")
    return image


@app.task(queue="slow")
async def nap(seconds: float) -> None:
    await asyncio.sleep(seconds)


@app.task(queue="slow")
def stuck(seconds: float) -> None:
    import time

    time.sleep(seconds)
"""

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: empty but for `jobs.py`."""
    (tmp_path / "jobs.py").write_text(JOBS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    for name in ("TENURE_URL", "TENURE_DEBUG", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def tenure() -> Run:
    """Run a command line; nothing it does may end in a traceback."""

    def run(*words: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(root, list(words), input=stdin, prog_name="tenure")
        assert "Traceback" not in result.stderr
        assert isinstance(result.exception, SystemExit | None)
        return result

    return run


def answer(result: Result) -> dict[str, Any]:
    """The one JSON document on standard output."""
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("\n") == 1
    decoded: dict[str, Any] = msgspec.json.decode(result.stdout)
    return decoded
