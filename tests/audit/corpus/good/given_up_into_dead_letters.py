"""Gives up after some tries, and keeps what was given up."""

import logging
import os
import time

import boto3

from orders import place, put_aside

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])
MAX_RECEIVES = 5


def messages(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    return answer.get("Messages", [])


def by_count(url, dead_url):
    for message in messages(url):
        if int(message["Attributes"]["ApproximateReceiveCount"]) > MAX_RECEIVES:
            logger.error("giving up on %s", message["MessageId"])
            sqs.send_message(QueueUrl=dead_url, MessageBody=message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
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
                if attempt == 2:
                    raise
                time.sleep(2**attempt)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def kept_aside(url):
    for message in messages(url):
        receives = int(message["Attributes"]["ApproximateReceiveCount"])
        if receives >= MAX_RECEIVES:
            put_aside(message["Body"], receives)
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            continue
        place(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        if receives > 1:
            logger.info("done at receive %d", receives)


def counted(url):
    for message in messages(url):
        if len(message["Body"]) > 5:
            place(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
