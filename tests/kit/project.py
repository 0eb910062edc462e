"""A user's project in a folder of its own, and pytest as they run it."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "test-your-handlers.md"

PLUGIN = "tenure.testing.plugin"
#: Without the plugins of all other packages that are installed here: they take three times as long as a small test.
NO_OTHER_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def run_pytest(folder: Path, *arguments: str, as_installed: bool = False) -> "subprocess.CompletedProcess[str]":
    """Run the tests in `folder`; every warning is an error. `as_installed`: pytest finds the plugin by itself."""
    plugin = [] if as_installed else ["-p", PLUGIN]
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", str(folder)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TENURE"))}
    environment |= {} if as_installed else NO_OTHER_PLUGINS
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugin, *quiet, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip


def write(folder: Path, **files: str) -> Path:
    """Write `name="…"` to `name.py`."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    return folder


def blocks(page: Path = PAGE) -> dict[str, str]:
    """The Python blocks of a page that are files, by the name in their first line."""
    found = re.findall(
        r"^```python\n(# (\w+)\.py\n.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return {name: text for text, name in found}
