"""Heartbeats that begin at once and go on: over errors, until the message is gone."""

import asyncio
import contextlib
import os

import boto3
from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue.aio import QueueClient
from tenure.standalone.sync import VisibilityHeartbeat, delete_message_with_retry

from video import download_model, download_video, transcode

sqs = boto3.client("sqs")


async def keep_alive(queue: QueueClient, message):
    while True:
        await asyncio.sleep(20)
        try:
            message = await queue.update_message(message, visibility_timeout=60)
        except ResourceNotFoundError:
            return
        except Exception as error:
            print("again in 20 s:", error)


async def keep_alive_quietly(queue: QueueClient, message):
    while True:
        await asyncio.sleep(20)
        with contextlib.suppress(Exception):
            message = await queue.update_message(message, visibility_timeout=60)


def main():
    url = os.environ["QUEUE_URL"]
    model = download_model()
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=30, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=30) as heartbeat:
                transcode(model, download_video(message["Body"]))
            delete_message_with_retry(sqs, heartbeat.receipt, queue_url=url)
