"""The site, built once for all tests of a process, and one browser for each file."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.dashboard.browser import launched
from website.build import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built site."""
    into = tmp_path_factory.mktemp("website") / "docs"
    build(ROOT, into)
    return into


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found
