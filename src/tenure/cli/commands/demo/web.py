"""The demo's server: a process of its own, so that the demo can be looked at in a browser while it runs.

Without the extra `server` the demo says so and goes on. Started and ended by `stage.py`; what the process does is in
`web_process.py`.
"""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import msgspec

from tenure.cli.commands.demo.tasks import FOLDER_VARIABLE, PARENT_VARIABLE
from tenure.errors import MissingExtra
from tenure.server.extra import check_extra

#: Where it listens if that port is free; else at any other.
_PORT = 8383
_START_SECONDS = 20.0
_STOP_SECONDS = 5.0


class DemoServer:
    """Serves the demo's store over HTTP, on this machine only."""

    def __init__(self, folder: Path) -> None:
        """Prepare a server that logs to `folder`."""
        self._folder = folder
        self._process: asyncio.subprocess.Process | None = None
        #: Where a browser finds it; empty: nowhere yet.
        self.address = ""
        #: Why there is none, in a sentence; empty while there may be one.
        self.missing = ""

    async def start(self) -> None:
        """Start it, and wait until it listens."""
        try:
            check_extra()
        except MissingExtra:
            self.missing = "No server: pip install 'tenure[server]' to watch the demo in a browser"
            return
        for port in (_PORT, 0):
            if await self._listens_on(port):
                return
        self.missing = f"The server did not start: see {self._folder / 'server.log'}"

    async def _listens_on(self, port: int) -> bool:
        environment = {**os.environ, FOLDER_VARIABLE: str(self._folder), PARENT_VARIABLE: str(os.getpid())}
        with (self._folder / "server.log").open("ab") as log:
            self._process = process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "tenure.cli.commands.demo.web_process",
                str(port),
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        line = b""
        if process.stdout is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_START_SECONDS):
                    line = await process.stdout.readline()
        if not line:
            await self.stop()
            return False
        self.address = str(msgspec.json.decode(line)["url"])
        return True

    async def stop(self) -> None:
        """End it; a request that does not end in time is cut off."""
        process, self._process = self._process, None
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(_STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    def end(self) -> None:
        """End it at once; for ends that cannot wait."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
