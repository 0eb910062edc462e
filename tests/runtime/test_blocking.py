"""Submitting from code that is not async."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tenure import PartlySent, ResultTimeout, SyncHandle, Tenure
from tenure.errors import SyncInAsync


def make_app(folder: Path) -> Tenure:
    app = Tenure(f"sqlite:///{folder}/jobs.db")

    @app.task
    async def double(number: int) -> int:
        return 2 * number

    return app


def test_code_without_a_loop_can_submit_ask_and_cancel(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    handle = app.tasks["double"].submit_sync(4)
    assert isinstance(handle, SyncHandle)
    assert handle.status().state == "ready"
    again = app.submit_sync("double", {"number": 5}, delay=60)
    assert again.status().state == "delayed"
    assert again.cancel() is True
    assert app.handle_sync(again.id).status().state == "cancelled"
    with pytest.raises(ResultTimeout):
        handle.result(timeout=0.05)
    app.close_sync()
    app.close_sync()
    assert app.handle_sync(handle.id).status().state == "ready"
    app.close_sync()


def test_many_can_be_submitted_without_a_loop(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    double = app.tasks["double"]
    assert len({handle.id for handle in app.submit_many_sync(double.bind(n) for n in range(10))}) == 10
    with pytest.raises(PartlySent):
        app.submit_many_sync([double.bind(1), double.bind(2).having(priority=10)])
    app.close_sync()


def test_threads_may_submit_at_once(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(app.tasks["double"].submit_sync(1).id)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(ids)) == 8
    app.close_sync()


async def test_a_blocking_call_in_async_code_is_refused(tmp_path: Path) -> None:
    app = make_app(tmp_path)
    with pytest.raises(SyncInAsync, match=r"Await the async method instead"):
        app.tasks["double"].submit_sync(1)


_SCRIPT = """
import os, sys
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")


@app.task
async def double(number: int) -> int:
    return 2 * number


first = double.submit_sync(1)
sys.stdout.flush()
child = os.fork()
second = double.submit_sync(2)
print("child" if child == 0 else "parent", second.status().state, first.status().state, flush=True)
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.scenario
@pytest.mark.skipif(not hasattr(os, "fork"), reason="not applicable: no fork on this platform")
def test_a_script_ends_by_itself_and_a_forked_child_submits_too(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert sorted(run.stdout.split("\n")) == ["", "child ready ready", "parent ready ready"], run.stderr
