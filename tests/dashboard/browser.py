"""The browser of the dashboard's tests: the one that `make` installs, else the system's; with no fonts but its own.

Both are pinned, so that the same page is the same picture on every machine: npm's Chromium brings Open Sans along,
and is shown no other font. A sign that this font lacks is drawn as an empty box, here and everywhere.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright
from tests.server.attacks.browser import chromium, environment, npm_chromium

#: A browser in a test asks nobody in the world for anything.
ARGUMENTS = [
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run", "--disable-quic", "--font-render-hinting=none", "--force-color-profile=srgb",
    "--disable-lcd-text",
]  # fmt: skip
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>{fonts}</dir>
  <cachedir>{cache}</cachedir>
  <match target="pattern"><edit name="family" mode="assign"><string>Open Sans</string></edit></match>
</fontconfig>
"""


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A browser, closed at the end."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        yield browser
        browser.close()


def launch(playwright: Playwright) -> Browser:
    """A browser without a window. Skips the test where there is none; in CI a skip fails."""
    binary = pinned_chromium() or chromium()
    if binary is None:
        pytest.skip("no Chromium is here: `make .venv/.npm`, or apt-get install chromium")
    own = {**environment(binary), **_fonts_of(binary)}
    return playwright.chromium.launch(executable_path=str(binary), args=ARGUMENTS, env=own)


def pinned_chromium() -> Path | None:
    """The binary that package-lock.json names. None: it is not installed, or another one is asked for."""
    return None if os.environ.get("TENURE_TEST_CHROMIUM") else npm_chromium()


def _fonts_of(binary: Path) -> dict[str, str | float | bool]:
    """Where its fonts are, and no others."""
    fonts = binary.parent / "fonts" / "fonts"
    if not fonts.is_dir():
        return {}
    config = binary.parent / f"only-its-own-{os.getpid()}.conf"
    config.write_text(_FONTS.format(fonts=fonts, cache=binary.parent / "fonts-cache"), encoding="utf-8")
    return {"FONTCONFIG_FILE": str(config.replace(binary.parent / "only-its-own.conf"))}
