"""What every test has: async tests run in virtual time, and in CI a skip is a failure."""

import os

import pytest

pytest_plugins = ["tenure.testing.plugin"]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip is a failure: what cannot run there would never run.

    A promise that does not apply to a broker, by its traits, is not a skip in that sense.
    """
    if os.environ.get("CI") != "true" or session.exitstatus != pytest.ExitCode.OK:
        return
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    skipped = reporter.stats.get("skipped", [])
    missing = [report.nodeid for report in skipped if "not applicable: " not in str(report.longrepr)]
    if missing:
        reporter.write_line(f"CI: a skipped test fails the run: {', '.join(missing)}", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
