"""One trial of the pipeline on Tenure: four services, every one killed once, and what readers got in the end."""

import asyncio
import os
import secrets
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tenure import Tenure

from .count import Count, Expected
from .kills import Kill, Killer
from .pace import SERVICES
from .processes import PARENT, Processes
from .receiver import Receiver, can_deliver, receiving
from .run_log import RunLog

FEEDS = sorted(path for path in (PARENT / "content_pipeline" / "feeds").glob("*/*") if path.is_file())
_LOOK_SECONDS = 0.004
_ASK_SECONDS = 0.25
#: A trial that takes longer has failed.
_LONGEST_SECONDS = 300.0


@dataclass
class Outcome:
    """What a trial showed."""

    count: Count
    seconds: float
    kills: list[Kill]
    #: Runs of the processor: each is a summary that a model would have been paid for.
    summaries: int
    builds: int
    #: Broken feeds that were put aside, with the reason.
    dead: dict[str, str] = field(default_factory=dict)
    #: None: webhooks are not installed here.
    webhooks: int | None = None


class Trial:
    """The pipeline at a URL, in a folder of its own."""

    def __init__(self, url: str, folder: Path) -> None:
        """Each trial has a namespace, so that it may be repeated on the same server."""
        self.folder = folder
        self._url = url
        self._namespace = f"pipeline-{secrets.token_hex(4)}"
        self._log = RunLog(folder / "runs.log")
        self.expected = Expected(FEEDS)

    def _processes(self, receiver: Receiver | None) -> Processes:
        tenure = [sys.executable, "-m", "tenure", "worker", "content_pipeline:app"]
        commands = {service: [*tenure, "--queue", service, "--concurrency", "10"] for service in SERVICES.values()}
        environment = {
            "TENURE_URL": self._url,
            "TENURE_NAMESPACE": self._namespace,
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
            async with Tenure(self._url, namespace=self._namespace) as app:
                if receiver is not None:
                    await app.operate.add_endpoint("newsroom", receiver.url, secret="env:NEWSROOM_SECRET")
                stack.callback(processes.stop_all)
                processes.start_all()
                began = time.time()
                processes.run([sys.executable, "-m", "content_pipeline.start", *map(str, FEEDS)])
                await self._work(app, killer, processes, began)
                seconds = time.time() - began
                await self._wait_for_webhook(receiver)
                dead = (await app.operate.dead()).messages
        reasons = {one.id: one.reason.text if one.reason else "" for one in dead}
        return Outcome(
            self.expected.compare(self.folder / "public"),
            seconds,
            killer.kills,
            self._log.count("done", "process"),
            self._log.count("done", "build"),
            reasons,
            None if receiver is None else len(receiver.endings),
        )

    async def _work(self, app: Tenure, killer: Killer, processes: Processes, began: float) -> None:
        asked = began
        while time.time() - began < _LONGEST_SECONDS:
            for kill in killer.look():
                print(f"{kill.at - began:6.1f} s  kill -9 {kill.service}, with {len(kill.held)} messages in hand")
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
        while receiver is not None and not receiver.endings and time.time() < until:
            await asyncio.sleep(_ASK_SECONDS)
