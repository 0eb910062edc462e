"""Branches that only take a message away, and say so; blocking functions that a decorator runs elsewhere."""

import asyncio
import functools

import boto3

from parcels import ship

sqs = boto3.client("sqs")


def in_a_thread(function):
    @functools.wraps(function)
    async def run(*args):
        return await asyncio.to_thread(function, *args)

    return run


@in_a_thread
def receive(url, timeout):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=timeout, WaitTimeSeconds=20)
    return answer.get("Messages", [])


@in_a_thread
def delete(url, message):
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def report_twice(message):
    print("twice", message["MessageId"])


async def run(url, timeout, done):
    while True:
        messages = await receive(url, timeout)
        for message in messages:
            if message["MessageId"] in done:
                await delete(url, message)
                report_twice(message)
                continue
            await ship(message["Body"])
            await delete(url, message)


def run_sync(url, timeout, done):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=timeout, WaitTimeSeconds=20)
    if "Messages" in answer:
        for message in answer["Messages"]:
            if message["MessageId"] in done:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
                report_twice(message)
                continue
            ship(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
