"""A receiver of webhooks beside a scenario, which goes on while the test waits; and what it must have got.

    with notified(stage, "orders") as orders:
        stage.submit("nap", {"seconds": 0}, webhook="orders")
        orders.until_told({id: "completed"})

Stands on `tests/webhooks/receivers.py`, in a loop and thread of its own.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import msgspec
from standardwebhooks import Webhook as Standard
from tests.webhooks.receivers import Receiver, Reply, answers, receiver

from .stage import Stage

#: For `Stage.configure`: the receiver is on loopback, and secrets are sealed.
SETTINGS = {"webhook_allow": "127.0.0.1", "secret_key": "k" * 32}
YES = answers(204)


class Notified:
    """What one endpoint's receiver got."""

    def __init__(self, stage: Stage, receiver: Receiver, name: str) -> None:
        """Made by `notified`."""
        self._stage = stage
        self._receiver = receiver
        self._secret = ""
        self.name = name

    def register(self) -> None:
        """Make it an endpoint."""
        self._stage.do(self._stage.app.open())
        endpoints = self._stage.app.operate.access.client.webhooks.endpoints
        self._secret = self._stage.do(endpoints.add(self.name, self._receiver.url)).secret or ""

    @property
    def url(self) -> str:
        """Where it is."""
        return self._receiver.url

    @property
    def requests(self) -> int:
        """How many came."""
        return len(self._receiver.got)

    def reply(self, reply: Reply) -> None:
        """Answer so from now on."""
        self._receiver.reply = reply

    def told(self) -> dict[str, set[str]]:
        """The statuses by task_id."""
        found: dict[str, set[str]] = defaultdict(set)
        for request in list(self._receiver.got):
            body = msgspec.json.decode(request.body)
            found[body["task_id"]].add(body["status"])
        return dict(found)

    def until_told(self, wanted: Mapping[str, str], within: float = 60.0) -> None:
        """Wait until all of these came."""
        try:
            self._stage.until(lambda: wanted.keys() <= self.told().keys(), f"{len(wanted)} endings have come", within)
        except AssertionError as late:
            missing = {id: status for id, status in wanted.items() if id not in self.told()}
            msg = f"{late}; these have not: {missing}"
            raise AssertionError(msg) from None

    def check(self, wanted: Mapping[str, str]) -> None:
        """Each ending came with its status and under one id, nothing else came, and all of it is signed."""
        assert self.told() == {id: {status} for id, status in wanted.items()}
        ids: dict[str, set[str]] = defaultdict(set)
        for request in self._receiver.got:
            Standard(self._secret).verify(request.body, request.headers)
            ids[msgspec.json.decode(request.body)["task_id"]].add(request.headers["webhook-id"])
        assert [task for task, own in ids.items() if len(own) != 1] == [], "a delivery has one id, whatever is killed"
        assert len(set.union(*ids.values())) == len(wanted), "two deliveries have one id"


@contextmanager
def notified(stage: Stage, name: str = "orders") -> Iterator[Notified]:
    """A receiver that says yes, registered under this name."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    over = asyncio.Event()
    made: list[Receiver] = []

    async def serve() -> None:
        async with receiver(YES) as one:
            made.append(one)
            ready.set()
            await over.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), name="receiver", daemon=True)
    thread.start()
    try:
        assert ready.wait(60), "the receiver does not start"
        one = Notified(stage, made[0], name)
        one.register()
        yield one
    finally:
        loop.call_soon_threadsafe(over.set)
        thread.join(60)
        loop.close()
