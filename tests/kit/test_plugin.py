"""The pytest plugin, as it is loaded in every test run of everybody who has Tenure installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from .project import run_pytest, write

JOBS = """
from tenure import Tenure

app = Tenure("sqlite:///jobs.db")
published: list[str] = []

@app.task
async def publish(article: str) -> None:
    published.append(article)
"""

CONFTEST = """
import pytest, jobs

@pytest.fixture
def tenure_app():
    return jobs.app
"""

FIVE_LINES = """
from jobs import publish, published

async def test_publishing_survives_a_crash(kit):
    kit.crash_worker()
    await publish.submit("article-1")
    await kit.drain()
    assert published == ["article-1"]
"""


def test_five_lines_tell_an_idempotent_handler_from_another(tmp_path: Path) -> None:
    write(tmp_path, jobs=JOBS, conftest=CONFTEST, test_jobs=FIVE_LINES)
    result = run_pytest(tmp_path, as_installed=True)
    assert result.returncode == 1
    assert "assert ['article-1', 'article-1'] == ['article-1']" in result.stdout
    assert "plugin.py" not in result.stdout
    write(tmp_path, jobs=JOBS.replace("    published.append", "    if article not in published: published.append"))
    result = run_pytest(tmp_path)
    assert result.returncode == 0, result.stdout
    assert not (tmp_path / "jobs.db").exists()


def test_a_fault_that_never_struck_fails_the_test_with_a_sentence(tmp_path: Path) -> None:
    test = FIVE_LINES.replace("await kit.drain()", "return")
    result = run_pytest(write(tmp_path, jobs=JOBS, conftest=CONFTEST, test_jobs=test))
    assert result.returncode == 1
    assert "kit.crash_worker(): it never happened, so this test proves nothing about it" in result.stdout
    assert "Traceback" not in result.stdout
    assert "__aexit__" not in result.stdout  # our own frames do not help anybody


def test_without_an_app_of_theirs_the_kit_brings_one(tmp_path: Path) -> None:
    test = """
async def test_it(kit):
    @kit.app.task
    async def add(a: int, b: int) -> int:
        return a + b

    handle = await add.submit(1, 2)
    await kit.drain()
    assert await handle.result() == 3
"""
    result = run_pytest(write(tmp_path, test_it=test))
    assert result.returncode == 0, result.stdout


def test_a_kit_behind_another_fixture_is_open_and_methods_work_too(tmp_path: Path) -> None:
    test = """
import pytest
from jobs import publish

class Site:
    def __init__(self, kit):
        self.kit = kit

@pytest.fixture
def site(kit):
    return Site(kit)

class TestSite:
    @pytest.mark.parametrize("times", [1, 2])
    async def test_it(self, site, times, tmp_path):
        for number in range(times):
            await publish.submit(str(number))
        await site.kit.drain()
        assert len(site.kit.completed(publish)) == times
"""
    result = run_pytest(write(tmp_path, jobs=JOBS, conftest=CONFTEST, test_site=test))
    assert result.returncode == 0, result.stdout
    assert "2 passed" in result.stdout


def test_a_plain_test_with_a_kit_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    test = """
import pytest
from jobs import app, publish
from tenure.testing import Kit

def test_plain(kit):
    publish.submit_sync("a")
    kit.drain()

@pytest.fixture
def own():
    return Kit(app)

def test_with_a_kit_of_their_own(own):
    publish.submit_sync("a")
"""
    result = run_pytest(write(tmp_path, jobs=JOBS, conftest=CONFTEST, test_jobs=test))
    assert result.returncode == 1
    assert "a test with a kit must be async, or nothing runs in it: write `async def test_plain`" in result.stdout
    assert "1 failed, 1 error" in result.stdout, result.stdout
    assert "plugin.py" not in result.stdout
    assert not (tmp_path / "jobs.db").exists()


def test_what_fixtures_send_without_async_goes_to_memory_too(tmp_path: Path) -> None:
    """From when the kit is made until the test is over, whoever sends."""
    test = """
import pytest
from jobs import publish, published

@pytest.fixture
def seeded(kit):
    publish.submit_sync("before")
    yield
    publish.submit_sync("after")

async def test_it(kit, seeded, virtual_clock):
    assert [one.arguments for one in kit.waiting(publish)] == [{"article": "before"}]
    await publish.submit("within")
    await kit.drain()
    assert sorted(published) == ["before", "within"]
    assert kit.clock is virtual_clock
"""
    result = run_pytest(write(tmp_path, jobs=JOBS, conftest=CONFTEST, test_jobs=test))
    assert result.returncode == 0, result.stdout
    assert not (tmp_path / "jobs.db").exists()


def test_a_drain_that_is_not_awaited_fails_the_test(tmp_path: Path) -> None:
    test = """
from jobs import publish, published

async def test_it_would_pass_for_the_wrong_reason(kit):
    await publish.submit("a")
    kit.drain()

async def test_a_failure_tells_it_too(kit):
    await publish.submit("a")
    kit.advance(hours=1)
    assert published == ["a"]
"""
    result = run_pytest(write(tmp_path, jobs=JOBS, conftest=CONFTEST, test_jobs=test))
    assert "2 failed" in result.stdout, result.stdout
    assert "kit.drain() was never awaited, so nothing ran: write `await kit.drain()`" in result.stdout
    assert "assert [] == ['a']" in result.stdout
    assert "kit.advance(…) was never awaited" in result.stdout
    assert "RuntimeWarning" not in result.stdout + result.stderr


OTHERS = """
import asyncio, pytest
from tenure.testing.virtual import VirtualLoop

seen = []

@pytest.fixture
def kit():
    return "a kit of bicycle tools"

async def test_theirs(kit):
    seen.append(1)

@pytest.mark.virtual_time
async def test_marked():
    assert isinstance(asyncio.get_running_loop(), VirtualLoop)
    await asyncio.sleep(3600 * 24 * 365)
    seen.append(2)

@pytest.fixture
def lock():
    return asyncio.Lock()

@pytest.mark.virtual_time
async def test_their_context_managers_are_left_to_them(lock):
    assert not lock.locked()

def test_only_the_marked_one_ran():
    assert seen == [2]
"""


def test_async_tests_of_others_are_left_alone(tmp_path: Path) -> None:
    """pytest itself fails an async test that nobody runs."""
    result = run_pytest(write(tmp_path, test_others=OTHERS))
    assert "1 failed, 3 passed" in result.stdout, result.stdout
    assert "async def functions are not natively supported" in result.stdout


def test_a_project_can_have_virtual_time_for_all(tmp_path: Path) -> None:
    test = """
import asyncio, contextlib, pytest
from tenure.testing.virtual import VirtualLoop

@pytest.fixture
def entered():
    return contextlib.nullcontext("inside")

async def test_virtual(entered, virtual_clock):
    began = virtual_clock.now
    await asyncio.sleep(3600)
    assert virtual_clock.now == began + 3600
    assert entered == "inside"

@pytest.mark.real_time
async def test_real():
    assert not isinstance(asyncio.get_running_loop(), VirtualLoop)
"""
    result = run_pytest(write(tmp_path, test_all=test), "-o", "tenure_virtual_time=true")
    assert result.returncode == 0, result.stdout


def test_a_harness_brings_virtual_time_along(tmp_path: Path) -> None:
    """So that the suites for adapters need no setting."""
    test = """
import pytest
from tenure import assembly
from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.broker.delays import Delays
from tenure.testing.harness import Harness

class MyHarness(Harness):
    async def connect(self):
        return assembly.connect("memory://", clock=self.clock)

    async def kill(self, owner):
        self.state.kill(owner.id)

@pytest.fixture
def harness():
    return MyHarness()

globals().update(pytest_classes([Delays]))
"""
    result = run_pytest(write(tmp_path, test_adapter=test))
    assert result.returncode == 0, result.stdout


def test_the_plugin_imports_next_to_nothing() -> None:
    """It is imported in every test run of every user."""
    program = (
        "import sys, tenure; before = set(sys.modules); import tenure.testing.plugin;"
        "print(*sorted(name for name in set(sys.modules) - before if name.startswith(('tenure', 'hypothesis'))))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["tenure.testing", "tenure.testing.plugin"]


def test_the_package_offers_the_kit_when_asked() -> None:
    from tenure import testing
    from tenure.testing.kit import Kit

    assert testing.Kit is Kit
    with pytest.raises(AttributeError, match="no attribute 'Kitten'"):
        _ = testing.Kitten
