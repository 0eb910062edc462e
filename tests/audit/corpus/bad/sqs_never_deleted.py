"""Sends mails for ever: nothing deletes what was sent."""

import json
import os

import boto3

client = boto3.client("sqs")


def send_mail(order):
    print("mail to", order["email"])


def run():
    url = os.environ["QUEUE_URL"]
    timeout = int(os.environ.get("SQS_VISIBILITY_TIMEOUT", "60"))
    while True:
        found = client.receive_message(QueueUrl=url, VisibilityTimeout=timeout, WaitTimeSeconds=20)  # expect: TQ201
        for message in found.get("Messages", ()):
            send_mail(json.loads(message["Body"]))
