"""Start the front end and a worker for each client; Ctrl-C stops them. `python -m service`, in the folder above.

On one machine, for a try. In production a service manager does this: docs/how-to/run-under-systemd.md.
"""

import asyncio
import contextlib
import os
import secrets
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from .documents import documents_of
from .settings import Settings

CLIENTS = ("southhaven", "demo")
SAMPLES = Path(__file__).parent / "samples"
#: Names that say where messages are; without any of them it is a file.
PLACES = ("TENURE_URL", "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_ACCOUNT_NAME")
FOLDER = Path(os.environ.get("SERVICE_FOLDER", "service-data")).resolve()
START_SECONDS = 60.0
STOP_SECONDS = 40.0


def environment(folder: Path, port: int) -> dict[str, str]:
    """What all parts of the service share. What is set already stays."""
    address = f"http://127.0.0.1:{port}"
    own = {
        "SERVICE_ADDRESS": address, **kept_secrets(folder),
        # Workers call the front end, which is not at a public address.
        "TENURE_WEBHOOK_ALLOW": f"127.0.0.1:{port}",
        "AZURE_STORAGE_CONTAINER_NAME": "documents",
    }  # fmt: skip
    if not any(os.environ.get(name) for name in PLACES):
        own["TENURE_URL"] = f"sqlite:///{folder / 'jobs.db'}"
    return {**own, **os.environ, "SERVICE_FOLDER": str(folder)}


def kept_secrets(folder: Path) -> dict[str, str]:
    """The keys of the clients and the secret of the webhooks, made at the first start."""
    path = folder / "secrets.env"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        keys = " ".join(f"{client}={secrets.token_urlsafe(18)}" for client in CLIENTS)
        text = f"SERVICE_CLIENTS={keys}\nWEBHOOK_SECRET=whsec_{secrets.token_hex(16)}\n"
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
    return dict(line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines())


def give_samples(settings: Settings) -> None:
    """Give each client something to work on."""
    documents = documents_of(settings)
    for client in settings.keys:
        if not documents.names(client):
            for sample in sorted(SAMPLES.glob(f"{client}/*")):
                documents.write(client, sample.name, sample.read_bytes())


class Part:
    """One process of the service. If it dies it is started again, as a service manager would."""

    def __init__(self, name: str, *command: str, env: Mapping[str, str]) -> None:
        """Make it, and start nothing yet. What it says goes to a file beside the data."""
        self.name = name
        self._log = Path(env["SERVICE_FOLDER"]) / f"{name.replace(' ', '-')}.log"
        self._command = [sys.executable, "-m", *command]
        self._env = env
        self._process: asyncio.subprocess.Process | None = None
        self._is_stopping = False
        #: How often it ended by itself.
        self.ends = 0

    async def run(self) -> None:
        """Until it is stopped."""
        while not self._is_stopping:
            with self._log.open("ab") as log:
                self._process = await asyncio.create_subprocess_exec(
                    *self._command, env=self._env, stdout=log, stderr=log,
                    start_new_session=True,  # so that Ctrl-C is ours to pass on
                )  # fmt: skip
            print(f"  process {self._process.pid:<8} {self.name}", flush=True)
            code = await self._process.wait()
            if not self._is_stopping:
                self.ends += 1
                print(f"the {self.name} ended ({code}) and is started again; see {self._log}", flush=True)
                await asyncio.sleep(1)

    def stop(self) -> None:
        """Let it finish what it does."""
        self._is_stopping = True
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    def kill(self) -> None:
        """End it."""
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()

    def last_words(self) -> str:
        """The last line of what it said."""
        return (self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["nothing"])[-1]


async def answers(port: int, parts: Sequence[Part]) -> bool:
    """Wait until the front end is there. False: it does not come, or a part cannot start."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(START_SECONDS):
            while not any(part.ends for part in parts):
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    return True
                await asyncio.sleep(0.05)
    return False


async def stopped(parts: Sequence[Part], running: Sequence[asyncio.Task[None]]) -> None:
    """Stop all parts, and wait until none runs any more."""
    print("Stopping: tasks that run may finish.", flush=True)
    for part in parts:
        part.stop()
    _, left = await asyncio.wait(running, timeout=STOP_SECONDS)
    for part in parts if left else ():
        part.kill()
    print("Stopped.")


async def main(port: int) -> int:
    """Start everything, say where it is, and stop everything. The exit code."""
    env = environment(FOLDER, port)
    settings = Settings.from_environment(env)
    give_samples(settings)
    parts = [
        Part("front end", "service.web", env=env),
        *(
            Part(f"worker of {client}", "tenure", "worker", "service.jobs:app", env={**env, "CLIENT_ID": client})
            for client in settings.keys
        ),
    ]
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    running = [asyncio.create_task(part.run()) for part in parts]
    waiting = asyncio.create_task(stop.wait())
    starting = asyncio.create_task(answers(port, parts))
    await asyncio.wait([waiting, starting], return_when=asyncio.FIRST_COMPLETED)
    has_failed = starting.done() and not starting.result()
    if has_failed:
        for part in parts:
            print(f"{part.name}: {part.last_words()}", file=sys.stderr, flush=True)
    elif not waiting.done():
        print(f"\nThe task service is at {settings.address}\nEach client signs in by a link of its own:", flush=True)
        for client, key in settings.keys.items():
            print(f"  {client:<12} {settings.address}/#{key}", flush=True)
        print("Ctrl-C stops everything.\n", flush=True)
        await waiting
    await stopped(parts, running)
    return int(has_failed)


def free_port(wanted: int) -> int:
    """The port, if no other program has it; for 0, any."""
    try:
        with socket.create_server(("127.0.0.1", wanted)) as server:
            port: int = server.getsockname()[1]
            return port
    except OSError:
        sys.exit(f"another program has port {wanted}; choose one: PORT=8001 make example-service")


if __name__ == "__main__":
    sys.exit(asyncio.run(main(free_port(int(os.environ.get("PORT", "8000"))))))
