"""Heartbeats by hand: one that any error ends, one that gives up by itself, one that begins too late."""

import asyncio
import logging
import os
import threading

import boto3
from azure.storage.queue.aio import QueueClient

from video import download_video, transcode

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["SQS_VISIBILITY_TIMEOUT"])


class VisibilityBeat:
    def __init__(self, url, receipt):
        self.url, self.receipt = url, receipt
        self.stopped = threading.Event()

    def run(self):
        while not self.stopped.wait(240):
            sqs.change_message_visibility(  # expect: TQ303
                QueueUrl=self.url, ReceiptHandle=self.receipt, VisibilityTimeout=300
            )

    def run_until_trouble(self):
        while not self.stopped.wait(240):
            try:
                sqs.change_message_visibility(  # expect: TQ303
                    QueueUrl=self.url, ReceiptHandle=self.receipt, VisibilityTimeout=300
                )
            except Exception:
                logger.exception("heartbeat failed")
                break


async def keep_alive(queue: QueueClient, message):
    try:
        while True:
            await asyncio.sleep(20)
            message = await queue.update_message(message, visibility_timeout=60)  # expect: TQ303
    except Exception:
        logger.warning("no more beats")


def work(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            path = download_video(message["Body"])  # expect: TQ302
            beat = VisibilityBeat(url, message["ReceiptHandle"])
            heartbeat_thread = threading.Thread(target=beat.run)
            start_heartbeat(heartbeat_thread)
            transcode(path)
            beat.stopped.set()
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def start_heartbeat(thread):
    thread.start()
