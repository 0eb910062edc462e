"""A `with` whose end deletes, whatever happened in it."""

import os

import boto3

from jobs import run

sqs = boto3.client("sqs")
URL = os.environ["QUEUE_URL"]
TIMEOUT = int(os.environ["TIMEOUT"])


class Taken:
    def __init__(self, message):
        self.message = message

    def __enter__(self):
        return self.message["Body"]

    def __exit__(self, *_):
        sqs.delete_message(QueueUrl=URL, ReceiptHandle=self.message["ReceiptHandle"])  # expect: TQ202


def main():
    while True:
        answer = sqs.receive_message(QueueUrl=URL, WaitTimeSeconds=20, VisibilityTimeout=TIMEOUT)
        for message in answer.get("Messages", []):
            with Taken(message) as body:
                run(body)
