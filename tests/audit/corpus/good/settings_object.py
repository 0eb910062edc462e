"""Timeouts in a settings object: defaults that whoever runs it can change."""

from dataclasses import dataclass

import boto3

from parcels import ship


@dataclass
class Settings:
    url: str
    visibility_timeout: int = 600


class Worker:
    visibility_timeout: int = 120

    def __init__(self, settings: Settings, wait: int = 20):
        self.sqs = boto3.client("sqs")
        self.settings = settings
        self.wait = wait

    def run(self):
        while True:
            answer = self.sqs.receive_message(
                QueueUrl=self.settings.url,
                VisibilityTimeout=self.settings.visibility_timeout,
                WaitTimeSeconds=self.wait,
            )
            for message in answer.get("Messages", []):
                ship(message["Body"])
                self.finish(message)

    def run_once(self, fast):
        timeout = 30 if fast else self.visibility_timeout
        return self.sqs.receive_message(QueueUrl=self.settings.url, VisibilityTimeout=timeout)

    def run_as_said(self):
        return self.sqs.receive_message(QueueUrl=self.settings.url, VisibilityTimeout=self.visibility_timeout)

    def finish(self, message):
        self.sqs.delete_message(QueueUrl=self.settings.url, ReceiptHandle=message["ReceiptHandle"])
        self.notify(message["MessageId"])

    def notify(self, message_id):
        print("done", message_id)
