"""Azure, sync: a calculated timeout, a pause while nothing comes, the new receipt kept."""

import logging
import os
import time

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueClient

from articles import publish
from tenure.standalone.sync import calculate_visibility_timeout

logger = logging.getLogger(__name__)
TIMEOUT = calculate_visibility_timeout(os.environ.get("CONTAINER_NAME", "site-publisher"))


def run(queue: QueueClient):
    pause = 1.0
    while True:
        message = queue.receive_message(visibility_timeout=TIMEOUT)
        if message is None:
            time.sleep(pause)
            pause = min(pause * 2, 60)
            continue
        pause = 1.0
        message = queue.update_message(message.id, message.pop_receipt, visibility_timeout=TIMEOUT)
        publish(message.content)
        try:
            queue.delete_message(message.id, message.pop_receipt)
        except ResourceNotFoundError:
            pass  # somebody deleted it before us


def give_back(queue: QueueClient, message):
    queue.update_message(message.id, message.pop_receipt, visibility_timeout=0)


def update_with(queue: QueueClient, message, **options):
    queue.update_message(message.id, message.pop_receipt, **options)


def drain(queue: QueueClient, seconds):
    while True:
        messages = list(queue.receive_messages(max_messages=1, visibility_timeout=seconds))
        if not messages:
            return
        for message in messages:
            publish(message.content)
            queue.delete_message(message)
