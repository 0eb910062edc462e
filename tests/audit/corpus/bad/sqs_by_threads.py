"""A sync client, handed to threads in every way there is: the mistakes are the same."""

import asyncio
from functools import partial

import boto3

from jobs import run

sqs = boto3.client("sqs")


async def by_thread(url):
    while True:
        answer = await asyncio.to_thread(sqs.receive_message, QueueUrl=url, VisibilityTimeout=900)  # expect: TQ101 TQ601
        for message in answer.get("Messages", []):
            await asyncio.to_thread(  # expect: TQ203
                sqs.delete_message, QueueUrl=url, ReceiptHandle=message["ReceiptHandle"]
            )
            await run(message["Body"])


async def by_executor(url, loop):
    receive = partial(sqs.receive_message, QueueUrl=url, VisibilityTimeout=600)
    while True:
        answer = await loop.run_in_executor(None, receive)  # expect: TQ101 TQ601
        for message in answer.get("Messages", []):
            try:
                await run(message["Body"])
            finally:
                delete = partial(sqs.delete_message, QueueUrl=url)
                await loop.run_in_executor(  # expect: TQ202
                    None, partial(delete, ReceiptHandle=message["ReceiptHandle"])
                )


async def by_lambda(url, loop):
    while True:
        answer = await loop.run_in_executor(  # expect: TQ101
            None, lambda: sqs.receive_message(QueueUrl=url, VisibilityTimeout=600, WaitTimeSeconds=20)
        )
        for message in answer.get("Messages", []):
            receipt = message["ReceiptHandle"]
            await loop.run_in_executor(  # expect: TQ203
                None, lambda receipt=receipt: sqs.delete_message(QueueUrl=url, ReceiptHandle=receipt)
            )
            await run(message["Body"])
