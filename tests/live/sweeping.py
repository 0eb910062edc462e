"""Sweeping a live account: whatever tests could not remove themselves goes at the end of the run.

Of this run everything, of other runs what is older than an hour (a process that was killed, a lost connection), and
nothing that has not a name of ours (`names.py`). Called by `session.py`; `harness.py` removes by the same verbs.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import urlsplit

from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.data.tables.aio import TableServiceClient
from tests.live.names import MARK

from tenure.adapters import aws, azure
from tenure.adapters.aws.session import Session
from tenure.adapters.azure.clients import Clients, _credential, _for_table
from tenure.adapters.azure.options import Options
from tenure.adapters.azure.timeline import Timeline
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerError, StoreMissing, TenureError

#: A table that is just being made cannot be removed; it is asked for so often, once a second.
_TRIES = 60

#: What a sweep ends in where the account is not to be reached, or does not let us.
CANNOT = (TenureError, AzureError)

#: Whether what has this name is to go.
Goes = Callable[[str], bool]


async def sweep_sqs(url: str, goes: Goes) -> list[str]:
    """Remove queues and tables; their names. SQS lists a new queue within a minute: before that it is not seen."""
    link = Session(aws.read_options(url, urlsplit(url)), SYSTEM_CLOCK)
    await link.open()
    try:
        queues = {one.rpartition("/")[2]: one async for one in _queues(link)}
        gone = list(filter(goes, queues))
        for name in gone:
            await remove_queue(link, queues[name])
        for name in [one async for one in _tables(link) if goes(one)]:
            await _remove_table(link, name)
            gone.append(name)
    finally:
        await link.close()
    return gone


async def remove_queue(link: Session, url: str) -> None:
    """It may be gone already."""
    with contextlib.suppress(StoreMissing):
        await link.call("sqs", "delete_queue", "SQS", QueueUrl=url)


async def _queues(link: Session) -> AsyncIterator[str]:
    words: dict[str, Any] = {"QueueNamePrefix": MARK, "MaxResults": 1000}
    while True:
        answer = await link.call("sqs", "list_queues", "SQS", **words)
        for url in answer.get("QueueUrls", ()):
            yield url
        if not answer.get("NextToken"):
            return
        words["NextToken"] = answer["NextToken"]


async def _tables(link: Session) -> AsyncIterator[str]:
    words: dict[str, Any] = {}
    while True:
        answer = await link.call("dynamodb", "list_tables", "DynamoDB", **words)
        for name in answer["TableNames"]:
            yield name
        if not answer.get("LastEvaluatedTableName"):
            return
        words["ExclusiveStartTableName"] = answer["LastEvaluatedTableName"]


async def _remove_table(link: Session, name: str) -> None:
    for left in reversed(range(_TRIES)):
        try:
            await link.call("dynamodb", "delete_table", "DynamoDB", TableName=name)
        except StoreMissing:
            return
        except BrokerError as error:
            if "ResourceInUseException" not in str(error) or not left:
                raise
            await asyncio.sleep(1.0)
        else:
            return


async def sweep_azure(url: str, goes: Goes) -> list[str]:
    """Remove queues, tables and containers; their names. The service lists them as soon as they are made."""
    options = azure.read_options(url, urlsplit(url))
    clients = Clients(options, Timeline(SYSTEM_CLOCK), SYSTEM_CLOCK.monotonic)
    gone: list[str] = []
    try:
        queues, blobs = clients.queue_service, clients.blob_service
        async for queue in queues.list_queues(name_starts_with=MARK):
            if goes(queue.name):
                await _remove(queues.delete_queue, queue.name, gone)
        async for container in blobs.list_containers(name_starts_with=MARK):
            if goes(container.name):
                await _remove(blobs.delete_container, container.name, gone)
        async with _tables_of(options) as tables:
            for name in [table.name async for table in tables.list_tables()]:
                if goes(name):
                    await _remove(tables.delete_table, name, gone)
    finally:
        await clients.close()
    return gone


def _tables_of(options: Options) -> TableServiceClient:
    return TableServiceClient(options.table_endpoint, credential=_for_table(_credential(options)))


async def _remove(remove: Callable[[str], Any], name: str, gone: list[str]) -> None:
    with contextlib.suppress(ResourceNotFoundError):  # it is going already
        await remove(name)
    gone.append(name)
