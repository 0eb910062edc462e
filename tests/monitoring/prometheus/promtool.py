"""Calls promtool, Debian's or the one that `make prometheus` has unpacked."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from tests.servers import binary


def promtool(words: Sequence[str], *, given: str = "", where: Path | None = None) -> "subprocess.CompletedProcess[str]":
    """Run it with these arguments, with `given` as its input; nothing is raised where it finds fault."""
    command = [str(binary("promtool")), *words]
    return subprocess.run(command, input=given, capture_output=True, text=True, timeout=300, check=False, cwd=where)
