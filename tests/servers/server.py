"""One server process: started, killed, frozen and started again by its own pid, with its data.

Used alone, by `cluster.py` and by `sentinel.py`. It ends with the process that started it: by the kernel on Linux,
at the interpreter's exit elsewhere.
"""

import atexit
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from tests.servers.asking import ServerError, ask
from tests.servers.binary import Kind, binary

#: How long a server may take to start, and anything that should happen soon.
SOON = 60.0
#: How long a server may take to stop by itself, and to be gone once it is killed.
STOP_SECONDS = 10.0
#: How often a free port may turn out to be taken by somebody else.
_TRIES = 5
#: A cluster node's second port lies so much higher.
_BUS = 10_000

#: Asks the kernel for a SIGKILL when the parent ends, which holds over `exec`. Not `preexec_fn`, which runs Python
#: code between fork and exec of a process with threads.
_START = """
import os, sys
if sys.platform == "linux":
    import ctypes
    ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
if os.getppid() != int(sys.argv[1]):
    sys.exit(1)
os.execv(sys.argv[2], sys.argv[2:])
"""


def command(words: Sequence[str]) -> list[str]:
    """How a server is started that ends with this process. In `make quick` none is."""
    if os.environ.get("TENURE_TEST_SERVERS") == "no":
        raise RuntimeError("make quick starts no server: name this test in NOT_QUICK of tests/selection.py")
    return [sys.executable, "-I", "-S", "-c", _START, str(os.getpid()), *words]


class RedisServer:
    """A server on a loopback port, with a folder for its data and its log."""

    def __init__(self, kind: Kind, folder: Path, port: int, lines: Sequence[str], words: Sequence[str] = ()) -> None:
        """Described by the lines of its configuration file; nothing runs yet."""
        self.kind = kind
        self.port = port
        self.folder = folder / f"{kind}-{port}"
        self._lines = lines
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None
        self._said_before = 0

    @property
    def url(self) -> str:
        """For clients."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """Of the process that runs, or ran last."""
        if self._process is None:
            raise RuntimeError("the server was never started")
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def said(self) -> str:
        """Its log."""
        log = self.folder / "server.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def ask(self, *words: str | float) -> object:
        """The answer to one command."""
        return ask(self.port, *words)

    def start(self) -> None:
        """Start the process, and wait until it answers PING, its data loaded."""
        self.folder.mkdir(parents=True, exist_ok=True)
        configuration = self.folder / "server.conf"
        if not configuration.exists():  # a sentinel writes what it learns into its own
            configuration.write_text("\n".join([f"port {self.port}", *self._lines]) + "\n")
        words = [str(binary(self.kind)), str(configuration), *self._words]
        with (self.folder / "server.log").open("ab") as log:
            self._said_before = log.tell()
            self._process = subprocess.Popen(
                command(words),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        atexit.register(self.kill)
        try:
            until(lambda: self._answers() or not self.is_running, f"{self.kind} answers on port {self.port}")
        except BaseException:
            self.kill()
            raise
        if not self.is_running:
            msg = f"{self.kind} on port {self.port} ended at once\n{self.said}"
            raise ChildProcessError(msg)

    def _answers(self) -> bool:
        try:
            # Its own answer, and not that of a stranger who has taken the port.
            return self.ask("PING") == "PONG" and f"process_id:{self.pid}\r" in str(self.ask("INFO", "server"))
        except ServerError as error:
            return str(error).startswith("NOAUTH") and "Ready to accept" in self.said[self._said_before :]
        except OSError:
            return False

    def kill(self) -> None:
        """SIGKILL; returns when it is gone. Works on a frozen one too."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait(STOP_SECONDS)
        atexit.unregister(self.kill)

    def restart(self) -> None:
        """Start again on the same port, with the data that it kept; what still runs is killed first."""
        self.kill()
        self.start()

    def freeze(self) -> None:
        """SIGSTOP: connections stay, nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def stop(self) -> None:
        """SIGTERM, and what it takes after that."""
        if self._process is None or not self.is_running:
            return
        self._process.terminate()
        self.resume()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(STOP_SECONDS)
        self.kill()

    def __enter__(self) -> Self:
        """Itself, started."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()


def start_redis(
    kind: Kind, folder: Path, *, port: int | None = None, appendonly: bool = False, config: Sequence[str] = ()
) -> RedisServer:
    """A server that answers. Its data is kept over `restart` only with `appendonly`, each write flushed at once.

    `config` are lines as in redis.conf. Stop it, or use it in a `with` block.
    """
    kept = ["appendonly yes", "appendfsync always"] if appendonly else ["appendonly no"]
    # Without the delay: a replica need not wait for others that might come.
    lines = ["bind 127.0.0.1", 'save ""', "repl-diskless-sync-delay 0", *kept, *config]
    return start_somewhere(lambda free: RedisServer(kind, folder, free, lines), port)


def start_somewhere(make: Callable[[int], RedisServer], port: int | None = None) -> RedisServer:
    """Start a server on `port`, or on a free one; tried again where somebody else was faster."""
    for left in reversed(range(_TRIES)):
        server = make(port or free_port())
        try:
            server.start()
        except ChildProcessError:
            if port is not None or not left:
                raise
        else:
            return server
    raise AssertionError("unreachable")


def free_port() -> int:
    """A loopback port that is free now, and so is the one that a cluster node would take beside it."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if port + _BUS > 65_535:
            port -= 2 * _BUS
        if _is_free(port) and _is_free(port + _BUS):
            return port


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def until(seen: Callable[[], object], what: str, within: float = SOON) -> None:
    """Wait until something is seen. Fails after `within` seconds."""
    deadline = time.monotonic() + within
    while not seen():
        if time.monotonic() > deadline:
            msg = f"waited {within:g} s in vain until {what}"
            raise TimeoutError(msg)
        time.sleep(0.01)
