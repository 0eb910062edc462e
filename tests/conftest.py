"""What every test has: async tests run in virtual time, and in CI a skip is a failure."""

import os
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path

import hypothesis
import pytest
from tests.live.asking import is_known

# Installed, Tenure brings its plugin along; pytest refuses to load one twice.
_INSTALLED = any(entry.value == "tenure.testing.plugin" for entry in entry_points(group="pytest11"))
pytest_plugins = [
    "tests.counted",
    "tests.live.session",
    "tests.selection",
    "tests.signals",
    "tests.standstill",
    "tests.unchanged_logging",
    "tests.unseen_errors",
    *([] if _INSTALLED else ["tenure.testing.plugin"]),
]

# A busy machine is no fault of the code: how long an example takes is no test's business.
hypothesis.settings.register_profile("tenure", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("tenure")

#: Where the tests are that need a stand-in for a cloud service: folders, and beginnings of files' names.
_CLOUD_FOLDERS = ("adapters/aws", "adapters/azure", "live", "standalone")
_CLOUD_FILES = ("test_azure", "test_dynamo", "test_sqs")
#: Stand-ins take milliseconds a call, and some suites make thousands of calls.
_CLOUD_SECONDS = 400


def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark what needs a cloud, by the place where it stands."""
    here = Path(__file__).parent
    for item in items:
        path = item.path.relative_to(here) if item.path.is_relative_to(here) else item.path
        if path.as_posix().startswith(_CLOUD_FOLDERS) or path.name.startswith(_CLOUD_FILES):
            item.add_marker(pytest.mark.cloud)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_CLOUD_SECONDS))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip is a failure: what cannot run there would never run.

    A promise that does not apply to a broker, by its traits, is not a skip in that sense; nor are the two live suites,
    which cost whoever asks for them money.
    """
    if os.environ.get("CI") != "true" or session.exitstatus != pytest.ExitCode.OK:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = reporter.stats.get("skipped", [])
    missing = [
        report.nodeid
        for report in skipped
        if "not applicable: " not in str(report.longrepr) and not is_known(report.longrepr, report.nodeid)
    ]
    if missing:
        reporter.write_line(f"CI: a skipped test fails the run: {', '.join(missing)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
