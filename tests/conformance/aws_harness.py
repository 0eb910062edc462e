"""What the AWS adapter brings along to the conformance suites: queues and a table of its own on real servers."""

import os
import shutil
import tempfile
from typing import Any, ClassVar
from urllib.parse import urlsplit

import boto3  # type: ignore[import-untyped]
import msgspec
from tests.servers.aws import AwsKind, shared_aws
from tests.servers.shared import shared

from tenure.adapters import aws, redis
from tenure.adapters.aws import MakeTable
from tenure.adapters.redis.server_wall import ServerWall
from tenure.adapters.redis.table import RedisTable
from tenure.adapters.sqlite.table import LocalTable
from tenure.broker import Broker
from tenure.rowstore.memory_table import MemoryTable
from tenure.state import State
from tenure.testing.harness import QUEUE, FaultWrapper, Harness

#: What a new queue takes, or a little less: aiohttp warns of requests over a megabyte.
_LARGEST = {"ministack": 262_144, "lenient": 262_144, "fauxqs": 900_000}
_DAMAGED = '{"tenure": damaged'
#: The service's clock is never behind ours: what is due here is due there.
_AHEAD = 0.002

os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")


class SqsHarness(Harness):
    """SQS on ministack, the state in memory."""

    kind: AwsKind = "ministack"
    in_dynamo = False
    finds_ids = False
    finds_envelopes = False
    #: Twelve hours are many sweeps.
    changes: ClassVar[dict[str, Any]] = {"hold_seconds": 400.0}

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """NameList that nobody else has."""
        super().__init__(fault)
        self._name = f"t{os.urandom(6).hex()}"
        self._options = aws.Options(
            region="eu-west-1", endpoint=shared_aws(self.kind).url, state_endpoint=shared_aws("ministack").url,
            prefix=f"{self._name}-", table=self._name, create=True, body_limit=_LARGEST[self.kind] - 256,
            **self.changes,
        )  # fmt: skip
        self._table = MemoryTable(self.clock)

    def _make_table(self) -> MakeTable:
        return aws.DynamoTable if self.in_dynamo else lambda _link: self._table

    def _prepare(self, client: Any) -> None:
        """Every request says what time it is."""

        def tell(request: Any, **_: object) -> None:
            request.headers["x-test-now"] = repr(self.clock.monotonic() + 1e9 + _AHEAD)

        client.meta.events.register("before-sign", tell)

    async def connect(self) -> tuple[Broker, State]:
        """Open broker and state over one store."""
        broker, state = aws.connect(
            self._options, clock=self.clock, make_table=self._make_table(), prepare=self._prepare
        )
        await broker.open()
        await state.open()
        self._store = broker._store
        return broker, state

    @property
    def sqs(self) -> aws.SqsQueue:
        """The queue under the store."""
        queue = self._store.queue
        assert isinstance(queue, aws.SqsQueue)
        return queue

    async def damage(self, id: str) -> bytes:
        """Put another body in the place of the stored one, behind the adapter's back: every copy anew, in order."""
        sqs = self._behind()
        url = sqs.get_queue_url(QueueName=f"{self._name}-{QUEUE}")["QueueUrl"]
        copies: list[Any] = []
        while some := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"]).get(
            "Messages"
        ):
            copies += some
        for copy in copies:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=copy["ReceiptHandle"])
            attributes = copy["MessageAttributes"]
            body = _DAMAGED if attributes["tenure-id"]["StringValue"] == id else copy["Body"]
            sqs.send_message(QueueUrl=url, MessageBody=body, MessageAttributes=attributes)
        return _DAMAGED.encode()

    async def remove_queue(self, queue: str) -> None:
        """Delete its physical queue, behind the adapter's back."""
        sqs = self._behind()
        for url in sqs.list_queues(QueueNamePrefix=f"{self._name}-{queue}").get("QueueUrls", ()):
            sqs.delete_queue(QueueUrl=url)
        self.sqs._options = self.sqs._known._options = msgspec.structs.replace(self._options, create=False)

    async def make_queue(self, queue: str) -> None:
        """As somebody would by hand."""
        self._behind().create_queue(QueueName=f"{self._name}-{queue}")

    async def reopen(self) -> None:
        """Close every client and open new ones."""
        await self._reopen()

    async def clean_up(self) -> None:
        """Remove queues and table."""
        sqs = self._behind()
        for url in sqs.list_queues(QueueNamePrefix=self._name).get("QueueUrls", ()):
            sqs.delete_queue(QueueUrl=url)
        if self.in_dynamo:
            self._dynamo().delete_table(TableName=self._name)

    def _dynamo(self) -> Any:
        return boto3.client("dynamodb", region_name="eu-west-1", endpoint_url=shared_aws("ministack").url)

    def _behind(self) -> Any:
        client = boto3.client("sqs", region_name="eu-west-1", endpoint_url=shared_aws(self.kind).url)
        self._prepare(client)
        return client


class FauxqsHarness(SqsHarness):
    """SQS on fauxqs, the state in memory."""

    kind = "fauxqs"


class LenientHarness(SqsHarness):
    """SQS where a stale receipt deletes; the state in memory."""

    kind = "lenient"


class DynamoHarness(SqsHarness):
    """SQS and DynamoDB on ministack."""

    in_dynamo = True
    fills_boards = False
    has_own_clock = True


class PriorityHarness(SqsHarness):
    """Three physical queues to a queue."""

    changes: ClassVar[dict[str, Any]] = {"priorities": 3, "hold_seconds": 400.0}


class RedisStateHarness(SqsHarness):
    """SQS on ministack, the state in Valkey."""

    has_own_clock = True

    def _make_table(self) -> MakeTable:
        url = f"{shared('valkey9').url}?prefix={self._name}"
        options = redis.read_options(url, urlsplit(url))
        wall = ServerWall(self.clock)

        def make(_link: object) -> RedisTable:
            table = RedisTable(options, self.clock)
            table._store.wall = wall  # in virtual time one server's clock, whenever a table was made
            return table

        return make


class LocalStateHarness(SqsHarness):
    """SQS on ministack, the state in a file."""

    def __init__(self, fault: FaultWrapper | None = None) -> None:
        """The file is made when it is first opened."""
        super().__init__(fault)
        self._folder = tempfile.mkdtemp(prefix="tenure-")

    def _make_table(self) -> MakeTable:
        return lambda _link: LocalTable(f"{self._folder}/state.db", self.clock)

    async def clean_up(self) -> None:
        """Remove the file too."""
        await super().clean_up()
        shutil.rmtree(self._folder, ignore_errors=True)


__all__ = [
    "DynamoHarness",
    "FauxqsHarness",
    "LenientHarness",
    "LocalStateHarness",
    "PriorityHarness",
    "RedisStateHarness",
    "SqsHarness",
]
