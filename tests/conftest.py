"""What every test has: async tests run in virtual time, and in CI a skip is a failure."""

import os

import pytest

pytest_plugins = ["tenure.testing.plugin"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip is a failure: what cannot run there would never run."""
    if os.environ.get("CI") != "true" or session.exitstatus != pytest.ExitCode.OK:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("CI: a skipped test fails the run", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
