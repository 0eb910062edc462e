"""Work beside the loop, whose end somebody waits for before the delete; and work for another queue."""

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor, wait
from multiprocessing.pool import ThreadPool

import boto3

from exports import archive_task, export

sqs = boto3.client("sqs")
pool = ThreadPoolExecutor(8)
processes = ThreadPool(4)
TIMEOUT = int(os.environ["SQS_VISIBILITY_TIMEOUT"])


def messages(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    return answer.get("Messages", [])


def done(url, message):
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def by_result(url):
    for message in messages(url):
        future = pool.submit(export, message["Body"])
        future.result()
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def by_wait(url):
    for message in messages(url):
        futures = [pool.submit(export, part) for part in message["Body"].split()]
        wait(futures)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def by_with(url):
    for message in messages(url):
        with ThreadPoolExecutor(4) as own:
            for part in message["Body"].split():
                own.submit(export, part)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def by_get(url):
    for message in messages(url):
        answer = processes.apply_async(export, (message["Body"],))
        answer.get(timeout=60)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def by_callback(url):
    for message in messages(url):
        future = pool.submit(export, message["Body"])
        future.add_done_callback(lambda _, message=message: done(url, message))


def to_another_queue(url):
    for message in messages(url):
        archive_task.delay(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


async def by_await(url):
    for message in await asyncio.to_thread(messages, url):
        task = asyncio.create_task(archive_task.run(message["Body"]))
        await task
        await asyncio.to_thread(done, url, message)


async def by_group(url):
    for message in await asyncio.to_thread(messages, url):
        async with asyncio.TaskGroup() as group:
            group.create_task(archive_task.run(message["Body"]))
        await asyncio.to_thread(done, url, message)
