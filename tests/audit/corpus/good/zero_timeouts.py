"""Zeros that are right: a look without a lease, and a message that is given back."""

import os

import boto3

from reports import build

sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])


def look(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, MaxNumberOfMessages=10)
    return len(answer.get("Messages", []))


def run(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    for message in answer.get("Messages", []):
        try:
            build(message["Body"])
        except Exception:
            sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
            raise
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def make(name):
    return sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "30", "DelaySeconds": "0"})
