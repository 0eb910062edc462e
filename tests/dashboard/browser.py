"""The browser of the dashboard's tests: the system's Chromium, else the one that `make` installs."""

import contextlib
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright
from tests.server.attacks.browser import chromium, environment

#: A browser in a test asks nobody in the world for anything.
ARGUMENTS = [
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic", "--font-render-hinting=none",
]  # fmt: skip


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A browser, closed at the end."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def launch(playwright: Playwright) -> Browser:
    """A browser without a window. Skips the test where there is none; in CI a skip fails."""
    binary = chromium()
    if binary is None:
        pytest.skip("no Chromium is here: apt-get install chromium, or `make .venv/.npm`")
    return playwright.chromium.launch(executable_path=str(binary), args=ARGUMENTS, env=environment(binary))
