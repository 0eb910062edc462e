"""Timeouts of nothing: every worker gets the message while the first one is at work."""

import boto3
from azure.storage.queue import QueueClient

from reports import build

sqs = boto3.client("sqs")
NOW = 0


def make(name):
    return sqs.create_queue(QueueName=name, Attributes={"VisibilityTimeout": "0"})["QueueUrl"]  # expect: TQ104


def run(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, WaitTimeSeconds=20)  # expect: TQ104
        for message in answer.get("Messages", []):
            build(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def run_azure(connection):
    queue = QueueClient.from_connection_string(connection, "reports")
    for message in queue.receive_messages(visibility_timeout=NOW):  # expect: TQ104
        build(message.content)
        queue.delete_message(message)


def set_it(url):
    sqs.set_queue_attributes(QueueUrl=url, Attributes={"VisibilityTimeout": 0})  # expect: TQ104
