"""A library around a queue: it receives, deletes and updates for others, who say the timeout."""

from azure.storage.queue.aio import QueueClient


class StorageQueue:
    def __init__(self, connection, name, visibility_timeout):
        self._queue_client = QueueClient.from_connection_string(connection, name)
        self.visibility_timeout = visibility_timeout

    async def receive_messages(self, max_messages=10):
        messages = []
        async for message in self._queue_client.receive_messages(
            max_messages=max_messages, visibility_timeout=self.visibility_timeout
        ):
            messages.append(message)
        return messages

    async def process(self, handler):
        for message in await self.receive_messages(max_messages=1):
            await handler(message)
            await self.delete_message(message)

    async def delete_message(self, message):
        await self._queue_client.delete_message(message.id, message.pop_receipt)

    async def extend(self, message, seconds):
        answer = await self._queue_client.update_message(
            message.id, message.pop_receipt, visibility_timeout=seconds
        )
        return answer.pop_receipt
