"""The timeout is calculated, for one of the ten."""

from azure.storage.queue.aio import QueueClient

from tenure.standalone import calculate_visibility_timeout, delete_message_with_retry


async def run(queue: QueueClient, build):
    timeout = calculate_visibility_timeout("site-publisher")
    async for message in queue.receive_messages(max_messages=10, visibility_timeout=timeout):  # expect: TQ103
        await build(message.content)
        await delete_message_with_retry(queue, message)
