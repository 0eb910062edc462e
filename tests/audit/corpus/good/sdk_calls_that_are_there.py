"""Less usual calls that the SDKs have."""

import os

import boto3
from azure.storage.queue import QueueClient, QueueServiceClient
from azure.storage.queue.aio import QueueClient as AsyncQueueClient

from mailing import deliver

sqs = boto3.client("sqs")


def look(url):
    sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])
    sqs.get_paginator("list_queues")
    sqs.start_message_move_task(SourceArn=os.environ["ARN"])
    sqs.meta.events.register("before-send", print)


def run(connection, lease):
    service = QueueServiceClient.from_connection_string(connection)
    queue = service.get_queue_client("mails")
    for message in queue.receive_messages(visibility_timeout=lease):
        deliver(message.content)
        queue.delete_message(message.id, message.pop_receipt)
    single = QueueClient.from_connection_string(connection, "mails")
    single.peek_messages(5)
    single.clear_messages()
    letter = single.receive_message(visibility_timeout=lease)
    if letter is not None:
        deliver(letter.content)
        single.delete_message(letter.id, pop_receipt=letter.pop_receipt)


async def run_async(connection, lease):
    async with AsyncQueueClient.from_connection_string(connection, "mails") as queue:
        async for message in queue.receive_messages(visibility_timeout=lease):
            deliver(message.content)
            await queue.delete_message(message)
        await queue.peek_messages()
