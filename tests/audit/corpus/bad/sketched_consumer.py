"""A consumer as a design sketches it: the SDK has none of this."""

import json
import os

from azure.storage.queue.aio import QueueClient, QueueServiceClient

from handlers import handler_for


class AsyncWorker:
    def __init__(self):
        self.client_id = os.getenv("CLIENT_ID", "default")
        self.queue_client = QueueServiceClient.from_connection_string(os.environ["CONNECTION"])

    async def run(self):
        while True:
            messages = await self.queue_client.receive_messages(visibility_timeout=self.lease())  # expect: TQ701 TQ601
            for message in messages:
                await self.process_message(message)
                await self.queue_client.delete_message(message.id)  # expect: TQ701

    def lease(self):
        return int(os.environ["LEASE"])

    async def process_message(self, message):
        data = json.loads(message.content)
        await handler_for(data["task_type"]).execute(data["payload"])


async def second_try(connection, lease):
    queue = QueueClient.from_connection_string(connection, "default-tasks")
    for message in await queue.receive_messages(visibility_timeout=lease):  # expect: TQ701
        await handler_for("ingest").execute(message.content)
        await queue.delete_message(message.id)  # expect: TQ701
        await queue.complete_message(message)  # expect: TQ701
