"""The end of a live run: nothing stays on an account, however the run ends. A plugin that `tests/conftest.py` loads.

Tests remove what they made. What they could not remove (Ctrl-C in `pytest -n`, a lost connection, a broken fixture)
is removed here, by the process that began the run, after its workers have ended; what a `kill -9` left, by a later
run. Does nothing, and imports nothing, where no live test ran.
"""

import asyncio
import signal
from collections.abc import Generator

import pytest
from tests.live.asking import AZURE, SQS, asked
from tests.live.names import is_of_the_run, is_old, name_the_run

_FILES = {"tests/live/test_live_sqs.py": SQS, "tests/live/test_live_azure.py": AZURE}
#: The suites of which a test has begun in this session.
_begun: set[str] = set()


def pytest_configure(config: pytest.Config) -> None:
    """Name the run before its workers are started: they take the name over. Where it is ended, end it as by Ctrl-C."""
    if (asked(SQS) or asked(AZURE)) and not hasattr(config, "workerinput"):
        name_the_run()
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # a CI that is cancelled sends it


def pytest_runtest_logstart(nodeid: str) -> None:
    """Take note that something may have been made. With `pytest -n`, the process that began the run hears it too."""
    variable = _FILES.get(nodeid.partition("::")[0])
    if variable is not None:
        _begun.add(variable)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> Generator[None, object, object]:
    """Sweep, after everybody else has finished."""
    result = yield
    if not hasattr(session.config, "workerinput"):
        for variable in sorted(_begun):
            _sweep(session, variable)
    return result


def _sweep(session: pytest.Session, variable: str) -> None:
    from tests.live.sweeping import CANNOT, sweep_azure, sweep_sqs

    sweep = sweep_sqs if variable == SQS else sweep_azure
    try:
        gone = asyncio.run(sweep(asked(variable), lambda name: is_of_the_run(name) or is_old(name)))
    except CANNOT as error:
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED
        _tell(
            session, f"live: look for what begins with {name_the_run()}, it could not be removed ({variable}): {error}"
        )
    else:
        if gone:
            _tell(session, f"live: removed at the end ({variable}): {' '.join(gone)}")


def _tell(session: pytest.Session, text: str) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None:
        reporter.write_line(f"\n{text}")
