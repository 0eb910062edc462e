"""The ground of Amazon's services: queues in fauxqs, the state in ministack's DynamoDB, under names of its own."""

import os
from typing import Any

import boto3  # type: ignore[import-untyped]
from tests.servers.aws import shared_aws

from .process import Process

_REGION = "eu-west-1"

# The stand-ins take any; the processes on the stage find them in the same place.
os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")


class SqsGround:
    """A prefix and a table."""

    def __init__(self) -> None:
        """The servers are those of the whole run."""
        self._name = f"stage{os.urandom(6).hex()}"
        self._queues, self._state = shared_aws("fauxqs"), shared_aws("ministack")
        #: Where processes connect to instead, by the name of the service.
        self.detours: dict[str, int] = {}

    @property
    def ports(self) -> dict[str, int]:
        """Of the servers themselves."""
        return {"queues": self._queues.port, "state": self._state.port}

    def url(self, options: str) -> str:
        """Both servers."""
        return self._url(self.ports, options)

    def url_of_processes(self, options: str) -> str:
        """By the detours, if there are any."""
        return self._url(self.ports | self.detours, options)

    def _url(self, ports: dict[str, int], options: str) -> str:
        return (
            f"sqs://{_REGION}?endpoint=http://127.0.0.1:{ports['queues']}&create=yes"
            f"&state_endpoint=http://127.0.0.1:{ports['state']}"
            f"&prefix={self._name}-&table={self._name}{'&' if options else ''}{options}"
        )

    def put_plain(self, queue: str, text: str) -> None:
        """Send a text as a producer does that never heard of Tenure."""
        sqs = boto3.client("sqs", region_name=_REGION, endpoint_url=self._queues.url)
        url = sqs.create_queue(QueueName=f"{self._name}-{queue}")["QueueUrl"]
        sqs.send_message(QueueUrl=url, MessageBody=text)

    def freeze(self, process: Process) -> None:
        """At any moment: nobody holds a lock."""
        process.freeze()

    def last_sweep(self) -> object:
        """As the row of sweeps tells."""
        key = {"part": {"S": "sweep"}, "sort": {"S": "sweep"}}
        return self._dynamo().get_item(TableName=self._name, Key=key, ConsistentRead=True).get("Item")

    def damage(self, queue: str, id: str, raw: bytes) -> None:
        """What lies in SQS cannot be changed."""
        raise NotImplementedError

    def close(self) -> None:
        """Remove queues and table."""
        sqs = boto3.client("sqs", region_name=_REGION, endpoint_url=self._queues.url)
        for url in sqs.list_queues(QueueNamePrefix=self._name).get("QueueUrls", ()):
            sqs.delete_queue(QueueUrl=url)
        dynamo = self._dynamo()
        if self._name in dynamo.list_tables()["TableNames"]:
            dynamo.delete_table(TableName=self._name)

    def _dynamo(self) -> Any:
        return boto3.client("dynamodb", region_name=_REGION, endpoint_url=self._state.url)
