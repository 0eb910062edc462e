"""A service whose profile is known: 45 s a message."""

import logging
import os

from libs.queue_client import delete_queue_message, receive_queue_messages

logger = logging.getLogger(__name__)
CONTAINER_NAME = os.getenv("CONTAINER_NAME", "content-processor")


async def poll(queue_client, process_content):
    messages = await receive_queue_messages(queue_client, max_messages=5, visibility_timeout=90)  # expect: TQ101 TQ103
    for msg in messages:
        try:
            result = await process_content(msg["content"])
            if result.success:
                await delete_queue_message(queue_client, msg["id"], msg["pop_receipt"])
        except Exception as error:
            logger.error("failed: %s", error)
