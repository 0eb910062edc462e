"""What a table was made on: machine, date, load and versions. Figures without these say nothing."""

import importlib.metadata
import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from tests.servers import ask, start_redis


def is_busy() -> bool:
    """Whether others use this machine as much as it can be used."""
    return os.getloadavg()[0] > (os.cpu_count() or 1)


def describe(folder: Path) -> dict[str, str]:
    """By what it is called."""
    one, five, _ = os.getloadavg()
    with start_redis("valkey9", folder) as server:
        info = str(ask(server.port, "INFO", "server"))
    version = next(line for line in info.splitlines() if line.startswith("valkey_version:")).partition(":")[2]
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.machine()}",
        "load average at the start": f"{one:.1f} (1 min), {five:.1f} (5 min)",
        "Python": platform.python_version(),
        "uvloop, for Tenure's workers": _version("uvloop"),
        "server": f"Valkey {version.strip()}",
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Its model, where the machine says it."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "processor unknown"
