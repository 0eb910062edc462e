"""The timeout is a setting; failures are logged and come back; a batch's answer is read."""

import json
import logging
import os

import boto3
from botocore.exceptions import ClientError

from orders import ship

logger = logging.getLogger(__name__)
QUEUE_URL = os.environ["QUEUE_URL"]
VISIBILITY_TIMEOUT = int(os.environ.get("SQS_VISIBILITY_TIMEOUT", "600"))
sqs = boto3.client("sqs")


def consume():
    while True:
        answer = sqs.receive_message(
            QueueUrl=QUEUE_URL,
            MaxNumberOfMessages=10,
            VisibilityTimeout=VISIBILITY_TIMEOUT,
            WaitTimeSeconds=20,
        )
        done = []
        for message in answer.get("Messages", []):
            try:
                ship(json.loads(message["Body"]))
            except Exception:
                logger.exception("not shipped; it comes back")
                sqs.change_message_visibility(
                    QueueUrl=QUEUE_URL, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
                )
            else:
                done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
        if done:
            failed = sqs.delete_message_batch(QueueUrl=QUEUE_URL, Entries=done).get("Failed", [])
            for entry in failed:
                logger.error("not deleted: %s", entry["Code"])


def forget(receipt):
    try:
        sqs.delete_message(QueueUrl=QUEUE_URL, ReceiptHandle=receipt)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ReceiptHandleIsInvalid":
            raise
