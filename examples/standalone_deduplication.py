"""Doing a message once over several workers, with the async Azure SDK: what is done is known in a blob container.

    python standalone_deduplication.py

Needs `azure-storage-queue`, `azure-storage-blob`, `aiohttp` and AZURE_STORAGE_CONNECTION_STRING, of an account or of
Azurite; it makes a queue `tenure-orders` and a container `tenure-message-logs` and removes them.
"""

import asyncio
import json
import os
import sys
from typing import Any

from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from tenure.standalone import MessageDeduplicator, VisibilityHeartbeat, delete_message_with_retry

CONNECTION = os.environ.get("AZURE_STORAGE_CONNECTION_STRING") or sys.exit(
    "Set AZURE_STORAGE_CONNECTION_STRING to that of a storage account, or of Azurite: UseDevelopmentStorage=true."
)
TIMEOUT = 30


async def handle(name: str, queue: Any, container: Any, message: Any) -> None:
    """Your loop's body: hold the message, do it once, delete it."""
    order = json.loads(message.content)
    deduplicator = MessageDeduplicator("billing", container)
    held = VisibilityHeartbeat(queue, message, visibility_timeout=TIMEOUT)
    # Your own id of the work: a message that is sent twice has two ids of the queue.
    async with held, deduplicator.once(order["id"]) as turn:
        if turn.is_first:
            await asyncio.sleep(0.2)
            print(f"{name} charges {order['id']}")
    if turn.is_running:
        print(f"{name} leaves {order['id']}: somebody else is at it")  # it comes back, and is done by then
    else:
        await delete_message_with_retry(queue, held.receipt)
        if turn.is_done:
            print(f"{name} deletes {order['id']}: it was done")


async def main() -> None:
    """Two workers, and one order that was sent twice, then once more."""
    async with (
        QueueClient.from_connection_string(CONNECTION, "tenure-orders") as queue,
        ContainerClient.from_connection_string(CONNECTION, "tenure-message-logs") as container,
    ):
        await asyncio.gather(queue.create_queue(), container.create_container())
        for _ in range(2):
            await queue.send_message(json.dumps({"id": "order-17"}))
        found = [message async for message in queue.receive_messages(max_messages=2, visibility_timeout=TIMEOUT)]
        await asyncio.gather(*(handle("a worker", queue, container, message) for message in found))

        await queue.send_message(json.dumps({"id": "order-17"}))
        message = await queue.receive_message(visibility_timeout=TIMEOUT)
        await handle("a later one", queue, container, message)
        await asyncio.gather(queue.delete_queue(), container.delete_container())


if __name__ == "__main__":
    asyncio.run(main())
