"""A delete that is tried again, and told when it never worked."""

import logging
import time

import boto3
from botocore.exceptions import BotoCoreError, ClientError

logger = logging.getLogger(__name__)


class Deleter:
    def __init__(self, url):
        self.sqs = boto3.client("sqs")
        self.url = url

    def delete(self, receipt):
        for attempt in range(3):
            try:
                self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=receipt)
                return True
            except (BotoCoreError, ClientError):
                time.sleep(2**attempt)
        logger.error("the message will come back")
        return False

    def delete_once(self, receipt):
        try:
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=receipt)
        except ClientError:
            logger.warning("not deleted", exc_info=True)

    def delete_and_tell(self, receipt):
        try:
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=receipt)
        except Exception:
            return False
        return True
