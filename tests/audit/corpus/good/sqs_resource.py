"""boto3's resources, with all that it takes."""

import logging

import boto3

from billing import charge
from settings import settings

logger = logging.getLogger(__name__)


class Invoices:
    def __init__(self):
        self.queue = boto3.resource("sqs").get_queue_by_name(QueueName="invoices")

    def work(self):
        while True:
            for message in self.queue.receive_messages(VisibilityTimeout=settings.timeout, WaitTimeSeconds=20):
                try:
                    charge(message.body)
                except Exception:
                    logger.exception("comes back")
                    message.change_visibility(VisibilityTimeout=60)
                else:
                    message.delete()
