"""A `with` whose end deletes only what went well: by a class, by another one, and by a generator."""

import os
from contextlib import contextmanager

import boto3

from jobs import run

sqs = boto3.client("sqs")
URL = os.environ["QUEUE_URL"]
TIMEOUT = int(os.environ["TIMEOUT"])


def delete(message):
    sqs.delete_message(QueueUrl=URL, ReceiptHandle=message["ReceiptHandle"])


class Taken:
    def __init__(self, message):
        self.message = message

    def __enter__(self):
        return self.message["Body"]

    def __exit__(self, kind, *_):
        if kind is None:
            sqs.delete_message(QueueUrl=URL, ReceiptHandle=self.message["ReceiptHandle"])


class Held(Taken):
    def __exit__(self, kind, *_):
        if kind is not None:
            return
        sqs.delete_message(QueueUrl=URL, ReceiptHandle=self.message["ReceiptHandle"])


@contextmanager
def taken(message):
    yield message["Body"]
    sqs.delete_message(QueueUrl=URL, ReceiptHandle=message["ReceiptHandle"])


def main():
    while True:
        answer = sqs.receive_message(QueueUrl=URL, WaitTimeSeconds=20, VisibilityTimeout=TIMEOUT)
        for message in answer.get("Messages", []):
            with taken(message) as body:
                run(body)
