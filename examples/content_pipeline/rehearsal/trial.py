"""One trial of the pipeline on Tenure: four services, every one killed once, and what readers got in the end."""

import asyncio
import os
import secrets
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from tenure import Tenure

from .count import Expected
from .kills import Killer
from .outcome import FEEDS, Outcome
from .pace import SERVICES
from .processes import Processes
from .receiver import Receiver, can_deliver, receiving
from .run_log import RunLog

#: Workers find the secret in their environment, so the store never has it.
_SECRET = "env:NEWSROOM_SECRET"  # noqa: S105 - a name
_LOOK_SECONDS = 0.004
_ASK_SECONDS = 0.25
#: A trial that takes longer has failed.
_LONGEST_SECONDS = 900.0


class Trial:
    """The pipeline at a URL, in a folder of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        """Nothing is started yet."""
        self.folder = folder
        self._url = _place_of_its_own(url)
        self._log = RunLog(folder / "runs.log")
        self.expected = Expected(FEEDS)

    def _processes(self, receiver: Receiver | None) -> Processes:
        tenure = [sys.executable, "-m", "tenure", "worker", "content_pipeline:app"]
        commands = {service: [*tenure, "--queue", service, "--concurrency", "10"] for service in SERVICES.values()}
        environment = {
            "TENURE_URL": self._url,
            "PIPELINE_FOLDER": str(self.folder),
            "PIPELINE_RUN_LOG": str(self._log.path),
        }
        if receiver is not None:
            environment |= {
                "PIPELINE_WEBHOOK": "newsroom",
                "NEWSROOM_SECRET": receiver.secret,
                "TENURE_WEBHOOK_ALLOW": "127.0.0.1",
            }
        return Processes(commands, self.folder, environment)

    async def run(self) -> Outcome:
        """Start, kill, wait until nothing is left to do, stop, and count."""
        with ExitStack() as stack:
            receiver = stack.enter_context(receiving()) if can_deliver() else None
            processes = self._processes(receiver)
            killer = Killer(processes, self._log)
            os.environ["TENURE_WEBHOOK_ALLOW"] = "127.0.0.1"  # read when the endpoint is added
            async with Tenure(self._url) as app:
                if receiver is not None:
                    await app.operate.add_endpoint("newsroom", receiver.url, secret=_SECRET)
                stack.callback(processes.stop_all)
                processes.start_all()
                began = time.time()
                processes.run([sys.executable, "-m", "content_pipeline.start", *map(str, FEEDS)])
                await self._work(app, killer, processes, began)
                seconds = time.time() - began
                await self._wait_for_webhook(receiver)
                dead = (await app.operate.dead()).messages
        reasons = [(one.reason.text or one.reason.code).partition(": ")[2] for one in dead if one.reason]
        return Outcome(
            self.expected.compare(self.folder / "public"),
            seconds,
            killer.kills,
            self._log.count("done", "process"),
            self._log.count("done", "build"),
            self._log.messages("publish"),
            reasons,
            None if receiver is None else len(receiver.endings),
        )

    async def _work(self, app: Tenure, killer: Killer, processes: Processes, began: float) -> None:
        asked = began
        while time.time() - began < _LONGEST_SECONDS:
            for kill in killer.look():
                print(kill.line(began), flush=True)
            if ended := processes.ended():
                raise SystemExit(f"{', '.join(ended)} ended; its log is in {self.folder}")
            if killer.is_done and time.time() - asked > _ASK_SECONDS:
                asked = time.time()
                queues = (await app.operate.queues()).queues
                if not sum((one.ready or 0) + (one.leased or 0) + (one.delayed or 0) for one in queues):
                    return
            await asyncio.sleep(_LOOK_SECONDS)
        raise SystemExit(f"not done after {_LONGEST_SECONDS:.0f} s; logs are in {self.folder}")

    async def _wait_for_webhook(self, receiver: Receiver | None) -> None:
        until = time.time() + 30
        while receiver is not None and not receiver.endings and time.time() < until:  # noqa: ASYNC110 - set by a thread
            await asyncio.sleep(_ASK_SECONDS)


def _place_of_its_own(url: str) -> str:
    """The URL with a prefix of this trial: keys that an earlier one completed would be recognised as done."""
    if url.startswith("sqlite:") or "prefix=" in url:
        return url
    name = f"pipeline{secrets.token_hex(3)}"
    more = f"prefix={name}&table={name}" if url.startswith("sqs:") else f"prefix={name}"
    return f"{url}{'&' if '?' in url else '?'}{more}"
