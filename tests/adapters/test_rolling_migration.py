"""From a loop of one's own to Tenure and back, while both are at work on one queue.

The old side is what people have: a bare SDK client that receives, works and deletes, and sends plain JSON. It never
hears of Tenure. Every message is run once, by one of the two, whoever sent it.
"""

import asyncio
import json
import os
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, Protocol, Self

import boto3  # type: ignore[import-untyped]
import pytest
from azure.storage.queue import QueueClient
from tests.servers.aws import AwsKind, shared_aws
from tests.servers.azure import ACCOUNT, KEY, shared_azure

from tenure import Call, Reject, Retry, Tenure
from tenure.client.browse_all import browse_all
from tenure.foreign import Foreign
from tenure.message import MessageState
from tenure.query import Query

os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")

QUEUE = "images"
#: A slow machine may take so long for anything here.
PATIENCE = 60.0


class Ground(Protocol):
    """A queue as its old users know it."""

    url: str

    def send(self, payload: dict[str, Any]) -> None:
        """Plain JSON into the queue."""
        ...

    def receive(self) -> list[tuple[str, Any]]:
        """Up to ten: the text, and what deletes it."""
        ...

    def delete(self, what: Any) -> None:
        """Done."""
        ...

    def left(self) -> int:
        """How much lies there, hidden or not."""
        ...


class SqsGround:
    """A loop around boto3."""

    def __init__(self, kind: AwsKind) -> None:
        """A queue of its own."""
        name = f"t{os.urandom(5).hex()}"
        end = shared_aws(kind).url
        state = shared_aws("ministack").url
        self.url = (
            f"sqs://eu-west-1?endpoint={end}&state_endpoint={state}&table={name}&prefix={name}-&create=yes&wire=plain"
        )
        self._client = boto3.client("sqs", region_name="eu-west-1", endpoint_url=end)
        self._queue = self._client.create_queue(QueueName=f"{name}-{QUEUE}")["QueueUrl"]

    def send(self, payload: dict[str, Any]) -> None:
        self._client.send_message(QueueUrl=self._queue, MessageBody=json.dumps(payload))

    def receive(self) -> list[tuple[str, Any]]:
        answer = self._client.receive_message(
            QueueUrl=self._queue, MaxNumberOfMessages=3, VisibilityTimeout=30, WaitTimeSeconds=0
        )
        return [(one["Body"], one["ReceiptHandle"]) for one in answer.get("Messages", ())]

    def delete(self, what: Any) -> None:
        self._client.delete_message(QueueUrl=self._queue, ReceiptHandle=what)

    def left(self) -> int:
        answer = self._client.get_queue_attributes(QueueUrl=self._queue, AttributeNames=["All"])["Attributes"]
        return sum(int(value) for name, value in answer.items() if name.startswith("ApproximateNumberOfMessages"))


class AzureGround:
    """A loop around azure-storage-queue."""

    def __init__(self) -> None:
        """A queue of its own."""
        server, prefix = shared_azure(), f"t{os.urandom(5).hex()}"
        self.url = server.url(prefix, "wire=plain", "poll_seconds=0.2")
        self._client = QueueClient(server.endpoint("queue"), f"{prefix}-{QUEUE}", credential=KEY)
        self._client.create_queue()
        assert ACCOUNT in self.url

    def send(self, payload: dict[str, Any]) -> None:
        self._client.send_message(json.dumps(payload), time_to_live=-1)

    def receive(self) -> list[tuple[str, Any]]:
        found = self._client.receive_messages(max_messages=3, visibility_timeout=30)
        return [(one.content, (one.id, one.pop_receipt)) for one in found]

    def delete(self, what: Any) -> None:
        self._client.delete_message(*what)

    def left(self) -> int:
        return int(self._client.get_queue_properties().approximate_message_count or 0)


class OldWorker:
    """Receives, works, deletes, for as long as it is let."""

    def __init__(self, ground: Ground, work: Callable[[dict[str, Any]], None]) -> None:
        """In a thread of its own."""
        self._ground, self._work = ground, work
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.failure: BaseException | None = None

    def __enter__(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop after the message at hand."""
        self._over.set()
        self._thread.join(PATIENCE)
        assert self.failure is None, self.failure

    def _run(self) -> None:
        try:
            while not self._over.is_set():
                for text, what in self._ground.receive():
                    self._work(json.loads(text))
                    self._ground.delete(what)
                self._over.wait(0.05)
        except BaseException as failure:  # noqa: BLE001 - told by whoever ends it
            self.failure = failure


@pytest.fixture(params=["ministack", "fauxqs", "azurite"])
def ground(request: pytest.FixtureRequest) -> Ground:
    """Each service."""
    return AzureGround() if request.param == "azurite" else SqsGround(request.param)


class House:
    """Both sides, and who ran what."""

    def __init__(self, ground: Ground) -> None:
        """Nobody works yet."""
        self.ground = ground
        self.old: Counter[str] = Counter()
        self.new: Counter[str] = Counter()
        #: What Tenure's handler is to do with some images, once.
        self.trouble: dict[str, Callable[[], None]] = {}
        self.app = Tenure(ground.url)
        self.begun: list[str] = []

        @self.app.task(queue=QUEUE)
        async def resize(image: str, width: int = 800) -> None:
            if image in self.trouble:
                self.trouble.pop(image)()
            if image.startswith("slow"):
                self.begun.append(image)
                await asyncio.sleep(3600)
            self.new[image] += 1
            assert width == 800

        self.resize = resize

        @self.app.on_foreign(QUEUE)
        def route(foreign: Foreign) -> Call[None]:
            return foreign.call(resize)

    @property
    def ran(self) -> Counter[str]:
        """How often each image was resized, by whomever."""
        return self.old + self.new

    def old_worker(self) -> OldWorker:
        """The loop that people have."""
        return OldWorker(self.ground, lambda payload: self.old.update([payload["image"]]))

    async def send(self, name: str, count: int) -> set[str]:
        """Half by each side; what was sent."""
        images = [f"{name}-{number}" for number in range(count)]
        await self.app.submit_many([self.resize.bind(image) for image in images[::2]])
        for image in images[1::2]:
            await asyncio.to_thread(self.ground.send, {"image": image, "unknown_to_tenure": 1})
        return set(images)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until it is so."""
        async with asyncio.timeout(PATIENCE):
            while not await asyncio.to_thread(holds):  # noqa: ASYNC110 - the other side is a bare client
                await asyncio.sleep(0.05)

    async def is_run_once(self, images: set[str]) -> None:
        """All are run once, nothing is left, and nothing is dead."""
        await self.until(lambda: set(self.ran) >= images and self.ground.left() == 0)
        assert {image: times for image, times in self.ran.items() if times != 1} == {}
        (depth,) = await self.app.broker.depth([QUEUE])
        assert depth.dead == 0


@pytest.mark.real_time
async def test_old_and_new_workers_share_a_queue_and_either_can_go_on_alone(ground: Ground) -> None:
    house = House(ground)
    with house.old_worker():
        async with house.app, house.app.worker(concurrency=4):
            sent = await house.send("both", 40)
            await house.is_run_once(sent)
            for more in range(5):  # on a busy machine one of them may take them all
                if not house.old or not house.new:
                    sent |= await house.send(f"more-{more}", 20)
                    await house.is_run_once(sent)
    assert house.old, "the old worker had no chance"
    assert house.new, "the new one had none"

    before = Counter(house.old)
    async with house.app, house.app.worker(concurrency=4):
        sent |= await house.send("new", 10)
        await house.is_run_once(sent)
    assert house.old == before

    # And back: what Tenure sent, held, gave back, put off and redrove, the old worker can read.
    sent |= await _in_all_states(house)
    with house.old_worker():
        async with house.app:
            sent |= await house.send("old", 10)
            await house.is_run_once(sent)


async def _in_all_states(house: House) -> set[str]:
    """Messages that Tenure had, and let go of again: given back, to be retried, dead and redriven; of both senders."""

    def put_off() -> None:
        raise Retry(after=1.0)

    def fail() -> None:
        raise Reject("not today")

    house.trouble = {"failing-0": fail, "failing-1": fail}
    worker = house.app.worker(concurrency=4, grace=0.0)
    async with house.app, worker:
        failing = await house.send("failing", 2)
        await house.until(lambda: worker.counts.get("dead", 0) == 2)
        house.trouble = {"put-off-0": put_off, "put-off-1": put_off}
        put = await house.send("put-off", 2)
        await house.until(lambda: not house.trouble)
        slow = await house.send("slow", 2)
        await house.until(lambda: len(house.begun) == 2)
    async with house.app:
        query = Query(states=(MessageState.DEAD,), queues=(QUEUE,))
        dead = [one.id async for one in browse_all(house.app.broker, query)]
        assert len(dead) == len(await house.app.broker.redrive(dead)) == len(failing)
    return failing | put | slow
