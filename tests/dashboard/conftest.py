"""One browser for all tests of a file.

Not for all of a process: Playwright's event loop runs from the launch to the end, and async tests of other files need
theirs.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.dashboard.browser import launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found
