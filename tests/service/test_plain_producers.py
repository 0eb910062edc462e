"""Seed 003's flow: a plain producer puts tasks into a client's queue, a worker runs them, and their ids answer.

The producers are bare SDKs that know nothing of Tenure: azure-storage-queue (plain and base64), boto3, redis-py,
sqlite3. SQS and Azure are read by Tenure itself; from a stream or a table of somebody else's a few lines hand on
(`QueueService.accept`).
"""

import asyncio
import base64
import json
import os
import sqlite3
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
import pytest
import redis.asyncio
from azure.storage.queue import QueueClient
from tests.servers.aws import shared_aws
from tests.servers.azure import KEY, shared_azure
from tests.servers.shared import shared

from tenure import Context, MessageNotFound, Tenure
from tenure.service import QueueService

pytestmark = [pytest.mark.real_time, pytest.mark.scenario]

os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
PATIENCE = 60.0
QUEUE = "southhaven-tasks"
Produce = Callable[[str], None]


def task(filename: str, *, kind: str = "ingest") -> tuple[str, str]:
    """A task as the seed writes it, and its id."""
    id = str(uuid.uuid4())
    payload = {"filename": filename, "document_set": "southhaven"}
    return id, json.dumps({"task_id": id, "task_type": kind, "payload": payload, "webhook_url": None})


@asynccontextmanager
async def azure(folder: Path) -> AsyncIterator[tuple[str, Produce]]:
    server, prefix = shared_azure(), f"t{os.urandom(5).hex()}"
    client = QueueClient(server.endpoint("queue"), f"{prefix}-{QUEUE}", credential=KEY)
    client.create_queue()
    turns = iter(range(100))

    def produce(text: str) -> None:
        is_base64 = next(turns) % 2  # as Azure Functions writes it, and as the SDK does by itself
        client.send_message(base64.b64encode(text.encode()).decode() if is_base64 else text)

    yield server.url(prefix, "poll_seconds=0.2"), produce


@asynccontextmanager
async def sqs(folder: Path) -> AsyncIterator[tuple[str, Produce]]:
    name, end = f"t{os.urandom(5).hex()}", shared_aws("ministack").url
    client = boto3.client("sqs", region_name="eu-west-1", endpoint_url=end)
    queue = client.create_queue(QueueName=f"{name}-{QUEUE}")["QueueUrl"]
    url = f"sqs://eu-west-1?endpoint={end}&state_endpoint={end}&table={name}&prefix={name}-&create=yes"
    yield url, lambda text: client.send_message(QueueUrl=queue, MessageBody=text)


@asynccontextmanager
async def stream(folder: Path) -> AsyncIterator[tuple[str, Produce]]:
    """A plain stream beside Tenure's keys, and a worker that hands on what comes."""
    server, name = shared("valkey9"), f"t{os.urandom(5).hex()}"
    url = f"redis://127.0.0.1:{server.port}/0"
    plain = redis.Redis(port=server.port)

    def produce(text: str) -> None:
        plain.xadd(f"{name}-{QUEUE}", {"task": text})

    yield f"{url}?prefix={name}", produce
    plain.close()


@asynccontextmanager
async def table(folder: Path) -> AsyncIterator[tuple[str, Produce]]:
    """A table of one's own, in a file of its own."""
    database = sqlite3.connect(folder / "outbox.db")
    database.execute("CREATE TABLE task (id INTEGER PRIMARY KEY, body TEXT)")

    def produce(text: str) -> None:
        with database:
            database.execute("INSERT INTO task (body) VALUES (?)", (text,))

    yield f"sqlite:///{folder / 'jobs.db'}", produce
    database.close()


async def hand_on_stream(service: QueueService, url: str) -> None:
    """What the how-to shows: accept first, then delete."""
    name = url.partition("prefix=")[2]
    client: Any = redis.asyncio.Redis.from_url(url.partition("?")[0])
    async with client:
        while True:
            for id, fields in await client.xrange(f"{name}-{QUEUE}", count=100):
                await service.accept(fields[b"task"])
                await client.xdel(f"{name}-{QUEUE}", id)
            await asyncio.sleep(0.1)


async def hand_on_table(service: QueueService, folder: Path) -> None:
    database = sqlite3.connect(folder / "outbox.db")
    while True:
        for id, body in database.execute("SELECT id, body FROM task ORDER BY id LIMIT 100").fetchall():
            await service.accept(body)
            with database:
                database.execute("DELETE FROM task WHERE id = ?", (id,))
        await asyncio.sleep(0.1)


async def hand_on(place: str, service: QueueService, url: str, folder: Path) -> None:
    """What Tenure does not read by itself."""
    if place == "redis":
        await hand_on_stream(service, url)
    elif place == "sqlite":
        await hand_on_table(service, folder)


PLACES = {"azure": azure, "sqs": sqs, "redis": stream, "sqlite": table}


@pytest.mark.parametrize("place", PLACES)
async def test_a_task_of_a_plain_producer_is_run_and_known_by_its_id(place: str, tmp_path: Path) -> None:
    async with PLACES[place](tmp_path) as (url, produce), AsyncExitStack() as stack:
        app = Tenure(url, client="southhaven")

        @app.task
        async def ingest(ctx: Context, filename: str) -> dict[str, str]:
            ctx.progress(1.0, filename)
            return {"indexed": filename}

        @app.task(max_attempts=1)
        async def summarize(filename: str) -> None:
            raise ValueError(filename)

        service = QueueService(app)
        done = [task(f"{number}.pdf") for number in range(4)]
        failing = task("broken.pdf", kind="summarize")
        for _, text in (*done, failing, done[0]):  # one of them twice
            produce(text)
        await stack.enter_async_context(app)
        await stack.enter_async_context(app.worker())
        hander = asyncio.create_task(hand_on(place, service, url, tmp_path))
        async with asyncio.timeout(PATIENCE):
            for number, (id, _) in enumerate(done):
                await known(service, id)
                assert await service.result(id, PATIENCE) == {"indexed": f"{number}.pdf"}
                assert (await service.status(id)).status == "completed"
            await known(service, failing[0])
            last = [one async for one in (await service.handle(failing[0])).updates()][-1]
            assert last.error is not None
            status = await service.status(failing[0])
            assert (status.status, status.task_type, status.attempt) == ("failed", "summarize", 1)
            assert not hander.done() or hander.exception() is None
        hander.cancel()
        await asyncio.gather(hander, return_exceptions=True)


async def known(service: QueueService, id: str) -> None:
    """Until the worker has met it."""
    while True:
        try:
            await service.status(id)
        except MessageNotFound:
            await asyncio.sleep(0.1)
        else:
            return


@pytest.mark.parametrize("place", ["azure", "sqs"])
async def test_a_plain_consumer_reads_what_the_service_sends(place: str, tmp_path: Path) -> None:
    async with PLACES[place](tmp_path) as (url, _):
        service = QueueService(url, client="southhaven")
        async with service:
            id = await service.submit_task("ingest", {"filename": "a.pdf"})
        told = json.loads(consumed(place, url))
        assert (told["task_id"], told["task_type"], told["payload"]) == (id, "ingest", {"filename": "a.pdf"})


def consumed(place: str, url: str) -> str:
    """The body of the one message, as a bare SDK gets it."""
    if place == "azure":
        prefix = url.partition("prefix=")[2].partition("&")[0]
        client = QueueClient(shared_azure().endpoint("queue"), f"{prefix}-{QUEUE}", credential=KEY)
        return str(next(iter(client.receive_messages())).content)
    prefix = url.partition("&prefix=")[2].partition("&")[0]
    sqs = boto3.client("sqs", region_name="eu-west-1", endpoint_url=shared_aws("ministack").url)
    queue = sqs.get_queue_url(QueueName=f"{prefix}{QUEUE}")["QueueUrl"]
    return str(sqs.receive_message(QueueUrl=queue, WaitTimeSeconds=5)["Messages"][0]["Body"])
