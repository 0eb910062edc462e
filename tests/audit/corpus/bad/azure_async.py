"""Azure, async: asks again and again, and shows what it works on."""

import json
import os

from azure.storage.queue.aio import QueueServiceClient


class AsyncWorker:
    def __init__(self):
        self.service = QueueServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
        self.queue_client = self.service.get_queue_client(f"{os.getenv('CLIENT_ID', 'default')}-tasks")

    async def run(self):
        while True:
            async for message in self.queue_client.receive_messages():  # expect: TQ102 TQ601
                task = json.loads(message.content)
                await self.queue_client.update_message(  # expect: TQ301
                    message.id, message.pop_receipt, content=json.dumps({**task, "state": "running"})
                )
                try:
                    await self.handle(task)
                finally:
                    await self.queue_client.delete_message(message)  # expect: TQ202

    async def handle(self, task):
        print(task["task_type"])
