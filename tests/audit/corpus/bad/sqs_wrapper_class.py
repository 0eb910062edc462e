"""A queue class of one's own, and a worker that deletes through it first."""

import json

import boto3

from invoices import render


class InvoiceQueue:
    def __init__(self, url):
        self.url = url
        self.client = boto3.client("sqs")

    def fetch(self, timeout, wait=20):
        answer = self.client.receive_message(  # expect: TQ101
            QueueUrl=self.url, VisibilityTimeout=timeout, WaitTimeSeconds=wait
        )
        return answer.get("Messages", [])

    def delete(self, message):
        self.client.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])


def main(url):
    queue = InvoiceQueue(url)
    while True:
        for message in queue.fetch(900):
            body = json.loads(message["Body"])
            queue.delete(message)  # expect: TQ203
            render(body["invoice"])
