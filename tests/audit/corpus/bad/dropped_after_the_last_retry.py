"""Gives up after some tries: the message is deleted, and a line in a log is all that is left of it."""

import logging
import os
import time

import boto3

from orders import place

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])
MAX_RECEIVES = 5


def messages(url):
    answer = sqs.receive_message(
        QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20, AttributeNames=["ApproximateReceiveCount"]
    )
    return answer.get("Messages", [])


def by_count(url):
    for message in messages(url):
        if int(message["Attributes"]["ApproximateReceiveCount"]) > MAX_RECEIVES:
            logger.error("giving up on %s", message["MessageId"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ210
            continue
        place(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def by_tries(url):
    for message in messages(url):
        for attempt in range(3):
            try:
                place(message["Body"])
                break
            except Exception:
                logger.exception("try %d failed", attempt)
                time.sleep(2**attempt)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ210


def after_an_error(url):
    for message in messages(url):
        receives = int(message["Attributes"]["ApproximateReceiveCount"])
        try:
            place(message["Body"])
        except Exception:
            if receives >= MAX_RECEIVES:
                logger.exception("dropped")
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ210
            continue
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
