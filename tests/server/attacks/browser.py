"""A real browser for tests: Chromium, where the machine has one.

In this order: `TENURE_TEST_CHROMIUM`, Debian's `chromium`, the one that `make` puts into `.venv` (tests/servers/npm).
"""

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.servers.aws import _NPM, _node

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PACKAGE = _NPM / "node_modules" / "@sparticuz" / "chromium"
#: Unpacks itself, and says where to.
_UNPACK = "import c from '@sparticuz/chromium'; console.log(await c.executablePath())"
#: No sandbox: tests run as root in containers too. Nothing is asked of hosts elsewhere.
_FLAGS = (
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> Path | None:
    """Its binary. None: there is none."""
    named = os.environ.get("TENURE_TEST_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if named is not None or not _PACKAGE.exists():
        return None if named is None else Path(named)
    folder = Path(tempfile.gettempdir()) / "tenure-test-chromium"
    folder.mkdir(exist_ok=True)
    said = subprocess.run(
        [str(_node()), "--input-type=module", "-e", _UNPACK], cwd=_NPM, env={**os.environ, "TMPDIR": str(folder)},
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    return Path(said.stdout.strip())


@contextlib.contextmanager
def browsing(names: Sequence[str]) -> Iterator["Browser"]:
    """A browser for which these host names are this machine. Without one the test is skipped."""
    binary = chromium()
    if binary is None:
        pytest.skip("no Chromium is here: apt-get install chromium, or `make .venv/.npm`")
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    rules = ",".join(f"MAP {name} 127.0.0.1" for name in names)
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=str(binary), args=[*_FLAGS, f"--host-resolver-rules={rules}"], chromium_sandbox=False
        )
        try:
            yield browser
        finally:
            browser.close()
