"""A sync client in async code, always in a thread."""

import asyncio
import functools
import os

import boto3

from pipeline import process

sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])


async def consume(url):
    while True:
        receive = functools.partial(sqs.receive_message, QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
        response = await asyncio.to_thread(receive)
        for message in response.get("Messages", []):
            await process(message["Body"])
            await asyncio.to_thread(sqs.delete_message, QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        link = sqs.generate_presigned_url("list_queues")
        print(link)
