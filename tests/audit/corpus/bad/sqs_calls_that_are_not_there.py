"""Calls of SQS from memory, and an await of a sync client."""

import os

import boto3

from mailing import deliver

sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])


def run(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    for message in answer.get("Messages", []):
        deliver(message["Body"])
        sqs.delete_message(QueueUrl=url, MessageId=message["MessageId"])  # expect: TQ701
        sqs.ack_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ701


async def run_async(url):
    answer = await sqs.receive_message(  # expect: TQ701
        QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20
    )
    for message in answer.get("Messages", []):
        deliver(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ501
