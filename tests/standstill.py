"""A second chance for tests of real time that failed while the machine stood still.

Scenarios and outages are about seconds: a lease of one, a recovery within three. A machine that is short of processors,
or stopped by its host, breaks such a bound, and nobody's code is to blame. So a pulse is taken during each of them: a
thread that sleeps for a moment, and sees how late it wakes. A test that failed is run again if the pulse was late, at
most `TRIES` times in all; on a machine that is well it fails at once. Code that is broken fails every time.

Some failures are never forgiven, because no time excuses them: a message lost, an effect done twice. Whoever finds one
raises an error with the attribute `whatever_the_clock_says`.

A pytest plugin, loaded by `conftest.py`. What was run again is told at the end of the run.
"""

import threading
from collections.abc import Generator, Iterable
from typing import Self

import pytest
from _pytest.runner import runtestprotocol

from tenure.clock import SYSTEM_CLOCK

#: How often one test may be run.
TRIES = 3
#: One delay of so long, or so large a share of all the time: the machine was not ours.
STILL_SECONDS, STILL_SHARE = 0.25, 0.25
_BEAT_SECONDS = 0.02

_MARKS = ("scenario", "outage")
_PROPERTY = "run again"
_is_unforgivable = pytest.StashKey[bool]()
_limit = pytest.StashKey[object]()


class Pulse:
    """Beats in a thread of its own for as long as a block lasts."""

    def __init__(self) -> None:
        """Nothing was late yet."""
        self.worst = self.late = self.lasted = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """It is over."""
        self._over.set()
        self._thread.join()

    def _beat(self) -> None:
        while not self._over.is_set():
            began = SYSTEM_CLOCK.monotonic()
            self._over.wait(_BEAT_SECONDS)
            took = SYSTEM_CLOCK.monotonic() - began
            self.lasted += took
            late = max(took - _BEAT_SECONDS, 0.0)
            self.late += late
            self.worst = max(self.worst, late)

    @property
    def stood_still(self) -> bool:
        """Whether time went by in which others had the machine."""
        return self.worst >= STILL_SECONDS or self.late >= STILL_SHARE * self.lasted > 0.0

    def __str__(self) -> str:
        """For people."""
        return f"the machine stood still for up to {self.worst:.1f} s, {self.late:.1f} of {self.lasted:.1f} s in all"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test of real time, and again if the machine gives reason to."""
    if not any(item.get_closest_marker(name) for name in _MARKS):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, pulse = _try(item, nextitem)
    tries = 1
    while tries < TRIES and _deserves_another(item, reports, pulse):
        item.user_properties.append((_PROPERTY, f"{pulse}; {_what_failed(reports)}"))
        item._initrequest()  # type: ignore[attr-defined]  # fresh fixtures: pytest has no other word for it
        _set_timer(item)
        reports, pulse = _try(item, nextitem)
        tries += 1
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _try(item: pytest.Item, nextitem: pytest.Item | None) -> tuple[list[pytest.TestReport], Pulse]:
    with Pulse() as pulse:
        return runtestprotocol(item, nextitem=nextitem, log=False), pulse


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: object) -> None:
    """Note how long pytest-timeout gives a test. It does the rest."""
    item.stash[_limit] = settings


def _set_timer(item: pytest.Item) -> None:
    """Each try has all of that; the first failure ended its timer."""
    if _limit in item.stash:
        item.config.pluginmanager.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_limit])


def _deserves_another(item: pytest.Item, reports: Iterable[pytest.TestReport], pulse: Pulse) -> bool:
    is_unforgivable = item.stash.get(_is_unforgivable, False)
    return pulse.stood_still and not is_unforgivable and any(report.failed for report in reports)


def _what_failed(reports: Iterable[pytest.TestReport]) -> str:
    failed = next(report for report in reports if report.failed)
    crash = getattr(failed.longrepr, "reprcrash", None)
    return " ".join(str(getattr(crash, "message", failed.longreprtext)).split())[:200]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note what no clock excuses."""
    if call.excinfo is not None and getattr(call.excinfo.value, "whatever_the_clock_says", False):
        item.stash[_is_unforgivable] = True
    return (yield)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tell what was run again, and why."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    for report in reports:
        if report.when == "call":
            for name, why in report.user_properties:
                if name == _PROPERTY:
                    terminalreporter.write_line(f"run again: {report.nodeid}: {why}", yellow=True)
