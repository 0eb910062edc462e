"""A user's project in a folder of its own, and pytest as they run it."""

import os
import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "how-to" / "test-your-handlers.md"

#: What pyproject.toml says once it is installed; until then, and never both: pytest loads no plugin twice.
PLUGIN = "tenure.testing.plugin"
_LOADED = any(entry.value == PLUGIN for entry in entry_points(group="pytest11"))


def run_pytest(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the tests in `folder`; every warning is an error."""
    plugin = [] if _LOADED else ["-p", PLUGIN]
    quiet = ["-q", "-p", "no:cacheprovider", "-W", "error", "--rootdir", str(folder)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "TENURE"))}
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
