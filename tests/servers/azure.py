"""Azurite, a stand-in for a storage account with queues, tables and blobs, as a process of its own (from npm).

It serves a request at the moment that its header `x-test-now` says (`azure_time.js`), so that tests in virtual time see
time pass. It collects no garbage (`azure_calm.js`): that stops it for seconds. Everything is in its memory; it ends
with the process that started it.
"""

import atexit
import functools
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.servers.aws import _NPM, _node
from tests.servers.binary import NotInstalled
from tests.servers.server import STOP_SECONDS, command, free_port, until

#: The account that Azurite has from the start, and its key, which is the same everywhere.
ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="

_HERE = Path(__file__).parent
_MAIN = _NPM / "node_modules" / "azurite" / "dist" / "src" / "azurite.js"
#: It takes seconds to load, and more where many tests run at once.
_SLOW = 90.0
_SERVICES = ("blob", "queue", "table")


def is_azure_installed() -> bool:
    """Whether this machine has it."""
    return _MAIN.is_file()


def preloaded_words() -> list[str]:
    """The command that starts it, with what is loaded before it; its options come behind."""
    loaded = [word for name in ("azure_time.js", "azure_calm.js") for word in ("--require", str(_HERE / name))]
    return [str(_node()), *loaded, str(_MAIN)]


class AzureServer:
    """Azurite on three loopback ports."""

    def __init__(self) -> None:
        """Start it, and wait until it answers."""
        if not is_azure_installed():
            raise NotInstalled("azurite: the npm package of that name is not installed; `make test` does it")
        self.ports = {service: free_port() for service in _SERVICES}
        self._folder = tempfile.TemporaryDirectory(prefix="tenure-azurite-")
        words = [*preloaded_words(), "--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        for service, port in self.ports.items():
            words += [f"--{service}Host", "127.0.0.1", f"--{service}Port", str(port)]
        self._process = subprocess.Popen(
            command(words),
            cwd=self._folder.name,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        atexit.register(self.kill)
        try:
            until(lambda: self._listens() or self._process.poll() is not None, "azurite listens", _SLOW)
        except BaseException:
            self.kill()
            raise
        if self._process.poll() is not None:
            self.kill()
            raise ChildProcessError("azurite ended at once")

    def endpoint(self, service: str, port: int | None = None) -> str:
        """Of one of its services; through `port`, where a proxy listens."""
        return f"http://127.0.0.1:{port or self.ports[service]}/{ACCOUNT}"

    def url(self, prefix: str, *options: str, **ports: int) -> str:
        """For `Tenure(…)`: everything that is missing is created, under `prefix`."""
        ends = [f"{service}_endpoint={self.endpoint(service, ports.get(service))}" for service in _SERVICES]
        key = KEY.replace("+", "%2B").replace("=", "%3D")
        return f"azure://{ACCOUNT}?" + "&".join([f"key={key}", f"prefix={prefix}", "create=yes", *ends, *options])

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()
        self._process.wait(STOP_SECONDS)
        self._folder.cleanup()
        atexit.unregister(self.kill)

    def _listens(self) -> bool:
        for port in self.ports.values():
            try:
                socket.create_connection(("127.0.0.1", port), 10.0).close()
            except OSError:
                return False
        return True


def start_azure() -> AzureServer:
    """A server that answers. Raises `NotInstalled`."""
    for left in reversed(range(5)):
        try:
            return AzureServer()
        except ChildProcessError:
            if not left:
                raise
    raise AssertionError("unreachable")


@functools.cache
def shared_azure() -> AzureServer:
    """One server for all tests of this process, each test under a prefix of its own."""
    return start_azure()
