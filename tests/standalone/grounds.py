"""Bare clients on real services, as their users make them: one queue each, with the SDK's own retries off.

A ground sends and receives by the client itself; everything else is done to `client` by the functions under test. The
service's time is the machine's until a test lets it `pass_by`: so a lease of half a minute ends when the test says so,
however slow the machine is.
"""

import itertools
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Literal

import aiobotocore.config  # type: ignore[import-untyped]
import aiobotocore.session  # type: ignore[import-untyped]
import azure.storage.queue
import azure.storage.queue.aio
import boto3  # type: ignore[import-untyped]
import botocore.config  # type: ignore[import-untyped]
import pytest
from tests.servers.aws import shared_aws
from tests.servers.azure import ACCOUNT, KEY, shared_azure
from tests.servers.binary import NotInstalled
from tests.servers.proxy_http import HttpProxy

from tenure.clock import SYSTEM_CLOCK

Kind = Literal["ministack", "fauxqs", "azurite"]
KINDS: tuple[Kind, ...] = ("ministack", "fauxqs", "azurite")

AWS = {"region_name": "eu-west-1", "aws_access_key_id": "test", "aws_secret_access_key": "test"}
NO_RETRIES = {"retries": {"total_max_attempts": 1}}
CREDENTIAL = {"account_name": ACCOUNT, "account_key": KEY}

_numbers = itertools.count()


class Dial:
    """Tells a service what time it is, with every request."""

    def __init__(self) -> None:
        self.ahead = 0.0

    @property
    def header(self) -> dict[str, str]:
        return {"x-test-now": f"{SYSTEM_CLOCK.wall() + self.ahead:.3f}"}

    def tell_aws(self, request: Any, **_: Any) -> None:
        """For botocore, before it sends a request."""
        for name, value in self.header.items():
            request.headers[name] = value

    def tell_azure(self, request: Any) -> None:
        """For the Azure SDK, likewise."""
        request.http_request.headers.update(self.header)


class Ground:
    """One queue, and a client for it. `words` are what the functions under test need besides."""

    def __init__(self, kind: Kind, client: Any, proxy: HttpProxy, dial: Dial, queue_url: str | None) -> None:
        self._dial = dial
        self.kind = kind
        self.client = client
        self.proxy = proxy
        self.words: dict[str, Any] = {} if queue_url is None else {"queue_url": queue_url}
        self.queue_url = queue_url

    def pass_by(self, seconds: float) -> None:
        """At the service, so much time passes."""
        self._dial.ahead += seconds

    def is_delete(self, call: Any) -> bool:
        """For rules of the proxy."""
        return b"DeleteMessage" in call.target or (call.method == "DELETE" and "/messages/" in call.path)

    def is_extend(self, call: Any) -> bool:
        """For rules of the proxy."""
        return b"ChangeMessageVisibility" in call.target or (call.method == "PUT" and "/messages/" in call.path)

    def id_of(self, message: Any) -> str:
        return str(message["MessageId"] if self.queue_url else message.id)


class SyncGround(Ground):
    def send(self, body: str = "{}") -> None:
        if self.queue_url:
            self.client.send_message(QueueUrl=self.queue_url, MessageBody=body)
        else:
            self.client.send_message(body)

    def receive(self, seconds: int) -> Any:
        if self.queue_url:
            return _first(self.client.receive_message(QueueUrl=self.queue_url, VisibilityTimeout=seconds))
        return self.client.receive_message(visibility_timeout=seconds)


class AsyncGround(Ground):
    async def send(self, body: str = "{}") -> None:
        if self.queue_url:
            await self.client.send_message(QueueUrl=self.queue_url, MessageBody=body)
        else:
            await self.client.send_message(body)

    async def receive(self, seconds: int) -> Any:
        if self.queue_url:
            return _first(await self.client.receive_message(QueueUrl=self.queue_url, VisibilityTimeout=seconds))
        return await self.client.receive_message(visibility_timeout=seconds)


def _first(answer: Any) -> Any:
    found = answer.get("Messages") or [None]
    return found[0]


def port_of(kind: Kind, service: str = "queue") -> int:
    """Where a service listens."""
    try:
        return shared_azure().ports[service] if kind == "azurite" else shared_aws(kind).port
    except NotInstalled as error:
        pytest.skip(str(error))


def _name() -> str:
    return f"standalone-{os.getpid()}-{next(_numbers)}"


@contextmanager
def sync_ground(kind: Kind) -> Iterator[SyncGround]:
    """With a client that is called."""
    dial = Dial()
    with HttpProxy(port_of(kind)) as proxy:
        if kind == "azurite":
            how: dict[str, Any] = {"credential": CREDENTIAL, "retry_total": 0, "raw_request_hook": dial.tell_azure}
            with azure.storage.queue.QueueClient(f"{proxy.url}/{ACCOUNT}", _name(), **how) as client:
                client.create_queue()
                yield SyncGround(kind, client, proxy, dial, None)
        else:
            config = botocore.config.Config(**NO_RETRIES)
            sqs = boto3.client("sqs", endpoint_url=proxy.url, config=config, **AWS)
            sqs.meta.events.register("before-send", dial.tell_aws)
            yield SyncGround(kind, sqs, proxy, dial, sqs.create_queue(QueueName=_name())["QueueUrl"])
            sqs.close()


@asynccontextmanager
async def async_ground(kind: Kind) -> AsyncIterator[AsyncGround]:
    """With a client that is awaited."""
    dial = Dial()
    with HttpProxy(port_of(kind)) as proxy:
        if kind == "azurite":
            how: dict[str, Any] = {"credential": CREDENTIAL, "retry_total": 0, "raw_request_hook": dial.tell_azure}
            async with azure.storage.queue.aio.QueueClient(f"{proxy.url}/{ACCOUNT}", _name(), **how) as client:
                await client.create_queue()
                yield AsyncGround(kind, client, proxy, dial, None)
        else:
            config = aiobotocore.config.AioConfig(**NO_RETRIES)
            session = aiobotocore.session.get_session()
            async with session.create_client("sqs", endpoint_url=proxy.url, config=config, **AWS) as sqs:
                made = await sqs.create_queue(QueueName=_name())
                sqs.meta.events.register("before-send", dial.tell_aws)
                yield AsyncGround(kind, sqs, proxy, dial, made["QueueUrl"])


def until(seen: Callable[[], Any], seconds: float = 60.0) -> Any:
    """What is seen, as soon as it is."""
    end = SYSTEM_CLOCK.monotonic() + seconds
    while not (found := seen()):
        assert SYSTEM_CLOCK.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found
