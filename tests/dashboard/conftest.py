"""One browser for all tests of a process; a folder with an app, a worker and a server for those that need them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.dashboard.browser import launched


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found
