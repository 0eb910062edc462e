"""Numbers of a class, and a move to the dead letters in the wrong order."""

from typing import ClassVar

import boto3

from parcels import ship


class Worker:
    VISIBILITY_TIMEOUT = 600
    WAIT: ClassVar[int] = 0

    def __init__(self, url, dead_url):
        self.client = boto3.client("sqs")
        self.url, self.dead_url = url, dead_url

    def run(self):
        while True:
            answer = self.client.receive_message(  # expect: TQ101 TQ601
                QueueUrl=self.url, VisibilityTimeout=self.VISIBILITY_TIMEOUT, WaitTimeSeconds=self.WAIT
            )
            for message in answer.get("Messages", []):
                if int(message["Attributes"]["ApproximateReceiveCount"]) > 5:
                    self.bury(message)
                else:
                    ship(message["Body"])
                    self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def bury(self, message):
        self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ203
        self.client.send_message(QueueUrl=self.dead_url, MessageBody=message["Body"])
