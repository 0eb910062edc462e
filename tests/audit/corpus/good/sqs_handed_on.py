"""Receives here, deletes elsewhere: messages are returned, yielded, or given to others as a whole."""

import os

import boto3

from consumers import consume

sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])


def receive(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    return answer.get("Messages", [])


def stream(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
        yield from answer.get("Messages", [])


def serve(url):
    while True:
        for message in sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20).get("Messages", []):
            consume(sqs, url, message)
