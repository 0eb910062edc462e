"""A task for each message, that nothing waits for."""

import asyncio
import json
import os

from azure.storage.queue.aio import QueueClient

from thumbnails import render

LEASE = int(os.environ["LEASE"])


async def main(connection):
    loop = asyncio.get_running_loop()
    async with QueueClient.from_connection_string(connection, "thumbnails") as queue:
        while True:
            async for message in queue.receive_messages(visibility_timeout=LEASE):
                body = json.loads(message.content)
                task = asyncio.create_task(render(body))
                task.add_done_callback(print)
                await queue.delete_message(message)  # expect: TQ208
            async for message in queue.receive_messages(visibility_timeout=LEASE):
                loop.run_in_executor(None, print, message.content)
                await queue.delete_message(message)  # expect: TQ208
            await asyncio.sleep(5)
