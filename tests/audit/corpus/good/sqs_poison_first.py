"""Deletes before the work, but only what will never be worked on."""

import json
import logging
import os

import boto3

from catalogue import update_price

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["SQS_VISIBILITY_TIMEOUT"])


def run(url, dead_url, seen):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            receipt = message["ReceiptHandle"]
            try:
                body = json.loads(message["Body"])
            except ValueError:
                sqs.send_message(QueueUrl=dead_url, MessageBody=message["Body"])
                sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)
                continue
            if body["id"] in seen:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)
                continue
            result = update_price(body)
            sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)
            logger.info("done", extra={"id": body["id"], "result": result})
            publish_result(result)


def publish_result(result):
    print(result)
