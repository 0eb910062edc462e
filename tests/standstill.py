"""A second chance for a measured duration that was too long while the machine stood still.

Some promises are about seconds: free again within three, ended within two. A machine that is short of processors, or
stopped by its host, breaks such a bound, and no code is to blame. So a test measures with `check_duration`, which
raises `TookTooLong`, after all else is judged. A scenario or outage whose only failure is that error, while a process
that only sleeps was woken late (`machine_pulse.py`), is run once more. A second failure is final.

Nothing else is ever excused: no lost message, no overlap, no unexpected dead letter, no exit code, no hang.

A pytest plugin, loaded by `conftest.py`. The end of the run lists what was run again.
"""

from collections.abc import Generator, Iterable

import pytest
from _pytest.runner import runtestprotocol
from tests.machine_pulse import Pulse, PulseProcess

_MARKS = ("scenario", "outage")
_PROPERTY = "run again"
_took_too_long = pytest.StashKey[bool]()
_limit = pytest.StashKey[object]()
_pulse = pytest.StashKey[PulseProcess]()


class TookTooLong(AssertionError):
    """A duration over its bound: the only failure that a standstill of the machine can explain."""


def check_duration(what: str, seconds: float, at_most: float) -> float:
    """`seconds`; raises `TookTooLong` if it is over the bound."""
    if seconds > at_most:
        msg = f"{what} took {seconds:.2f} s; at most {at_most:g} s are promised"
        raise TookTooLong(msg)
    return seconds


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test of real time; once more if only a duration failed and the machine stood still."""
    if not any(item.get_closest_marker(name) for name in _MARKS):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports, pulse = _run(item, nextitem)
    if _deserves_another(item, reports, pulse):
        item.user_properties.append((_PROPERTY, f"{pulse}; {_what_failed(reports)}"))
        item._initrequest()  # type: ignore[attr-defined]  # fresh fixtures: pytest has no public way
        _set_timer(item)
        reports, _ = _run(item, nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _run(item: pytest.Item, nextitem: pytest.Item | None) -> tuple[list[pytest.TestReport], Pulse]:
    if _pulse not in item.config.stash:
        item.config.stash[_pulse] = PulseProcess()
    process = item.config.stash[_pulse]
    process.take()  # what came before is not this test's
    item.stash[_took_too_long] = False
    return runtestprotocol(item, nextitem=nextitem, log=False), process.take()


def _deserves_another(item: pytest.Item, reports: Iterable[pytest.TestReport], pulse: Pulse) -> bool:
    is_all = sum(report.failed for report in reports) == 1
    return is_all and item.stash[_took_too_long] and pulse.stood_still


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note that a duration failed."""
    if call.excinfo is not None and isinstance(call.excinfo.value, TookTooLong):
        item.stash[_took_too_long] = True  # in the call, or in a fixture's end
    return (yield)


def _what_failed(reports: Iterable[pytest.TestReport]) -> str:
    failed = next(report for report in reports if report.failed)
    crash = getattr(failed.longrepr, "reprcrash", None)
    return " ".join(str(getattr(crash, "message", failed.longreprtext)).split())[:200]


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_timeout_set_timer(item: pytest.Item, settings: object) -> None:
    """Note how long pytest-timeout gives a test. It does the rest."""
    item.stash[_limit] = settings


def _set_timer(item: pytest.Item) -> None:
    """The second run has the whole time limit; the first failure ended its timer."""
    if _limit in item.stash:
        item.config.pluginmanager.hook.pytest_timeout_set_timer(item=item, settings=item.stash[_limit])


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the process that beats."""
    if _pulse in config.stash:
        config.stash[_pulse].stop()
        del config.stash[_pulse]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List what was run again, and why."""
    reports = [one for kind in ("passed", "failed") for one in terminalreporter.stats.get(kind, ())]
    for report in reports:
        if report.when == "call":
            for name, why in report.user_properties:
                if name == _PROPERTY:
                    terminalreporter.write_line(f"run again: {report.nodeid}: {why}", yellow=True)
