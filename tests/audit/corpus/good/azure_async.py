"""Azure, async, with the pieces of Tenure."""

import asyncio
import json
import os

from azure.storage.queue.aio import QueueServiceClient

from tenure.standalone import MessageDeletionTracker, VisibilityHeartbeat, delete_message_with_retry


class AsyncWorker:
    def __init__(self):
        self.service = QueueServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
        self.queue_client = self.service.get_queue_client(f"{os.getenv('CLIENT_ID', 'default')}-tasks")
        self.tracker = MessageDeletionTracker("worker")

    async def run(self):
        while True:
            async for message in self.queue_client.receive_messages(max_messages=4, visibility_timeout=30):
                async with VisibilityHeartbeat(self.queue_client, message, visibility_timeout=30) as heartbeat:
                    await self.handle(json.loads(message.content))
                await delete_message_with_retry(self.queue_client, heartbeat.receipt)
            await asyncio.sleep(1)

    async def handle(self, task):
        await asyncio.sleep(0)
        print(task["task_type"])
