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

import msgspec
import pytest
from tests.servers.aws import _NPM, _node

if TYPE_CHECKING:
    from playwright.sync_api import Browser

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_PACKAGE = _NPM / "node_modules" / "@sparticuz" / "chromium"
#: Unpacks itself into the temporary folder, with libraries that a machine may lack (nss, nspr, expat).
_UNPACK = "import c from '@sparticuz/chromium'; await c.executablePath()"
#: No sandbox: tests run as root in containers too. Nothing is asked of hosts elsewhere.
_FLAGS = (
    "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


def chromium() -> Path | None:
    """Its binary. None: there is none."""
    named = os.environ.get("TENURE_TEST_CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    return npm_chromium() if named is None else Path(named)


def npm_chromium() -> Path | None:
    """The binary of the version in package-lock.json. None: `make .venv/.npm` was not run."""
    if not _PACKAGE.exists():
        return None
    version = msgspec.json.decode((_PACKAGE / "package.json").read_bytes())["version"]
    folder = Path(tempfile.gettempdir()) / f"tenure-test-chromium-{version}"
    if not folder.exists():
        _unpack(folder)
    return folder / "chromium"


def _unpack(folder: Path) -> None:
    """Whole or not at all: several test processes may do it at once."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as part:
        subprocess.run(
            [str(_node()), "--input-type=module", "-e", _UNPACK],
            cwd=_NPM,
            capture_output=True,
            timeout=60,
            check=True,
            env={**os.environ, "TMPDIR": part, "AWS_LAMBDA_JS_RUNTIME": "nodejs22.x"},
        )
        whole = shutil.copytree(part, f"{part}-whole")
        try:
            os.rename(whole, folder)  # noqa: PTH104 - fails where another process was first
        except OSError:
            shutil.rmtree(whole)


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
            executable_path=str(binary),
            args=[*_FLAGS, f"--host-resolver-rules={rules}"],
            chromium_sandbox=False,
            env=environment(binary),
        )
        try:
            yield browser
        finally:
            browser.close()


def environment(binary: Path) -> dict[str, str | float | bool]:
    """With the libraries beside the browser, if the machine lacks them."""
    found = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False).stdout
    lacks = "not found" in found
    libraries = {"LD_LIBRARY_PATH": str(binary.parent / "al2023" / "lib")} if lacks else {}
    return {**os.environ, **libraries}
