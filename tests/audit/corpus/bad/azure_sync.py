"""Azure Storage Queues, sync: timeout by guess, delete errors dropped."""

import contextlib
import os

from azure.core.exceptions import HttpResponseError
from azure.storage.queue import QueueClient

from articles import publish

queue = QueueClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"], "articles")


def run_once():
    for message in queue.receive_messages(messages_per_page=32, visibility_timeout=600):  # expect: TQ101 TQ103
        publish(message.content)
        try:
            queue.delete_message(message)  # expect: TQ204
        except HttpResponseError:
            pass


def run_one():
    message = queue.receive_message()  # expect: TQ102
    if message is None:
        return
    publish(message.content)
    with contextlib.suppress(Exception):
        queue.delete_message(message.id, message.pop_receipt)  # expect: TQ204


def touch(message):
    queue.update_message(message.id, message.pop_receipt)  # expect: TQ301
