"""The work failed, a line was logged, and the message is gone."""

import logging
import os

import boto3
from azure.storage.queue import QueueClient

from jobs import measured, run

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])


def logged(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            try:
                run(message["Body"])
            except Exception:
                logger.exception("failed")
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ206


def passed(queue: QueueClient):
    for message in queue.receive_messages(visibility_timeout=TIMEOUT):
        try:
            with measured():
                run(message.content)
        except:
            pass
        try:
            queue.delete_message(message)  # expect: TQ206
        except Exception:
            logger.exception("not deleted")


async def printed(queue: QueueClient):
    message = queue.receive_message(visibility_timeout=TIMEOUT)  # expect: TQ501
    try:
        await run(message.content)
    except ValueError:
        return
    except Exception as error:
        print(error)
    with logging.span("delete"):
        queue.delete_message(message)  # expect: TQ206 TQ501


def listed(url):
    while True:
        done = []
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            try:
                run(message["Body"])
            except Exception:
                logger.exception("failed")
            done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})  # expect: TQ206
        failed = sqs.delete_message_batch(QueueUrl=url, Entries=done).get("Failed")
        logger.info("%s", failed)
