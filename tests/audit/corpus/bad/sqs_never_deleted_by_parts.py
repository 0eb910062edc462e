"""Received by one function, run by another, and deleted by none; in a class and outside of one."""

import os
from dataclasses import dataclass

import boto3
from shop.invoices import write_invoice


@dataclass
class Config:
    url: str = os.getenv("QUEUE_URL", "")
    timeout: int = int(os.getenv("TIMEOUT", "45"))


def fetch(client, config):
    answer = client.receive_message(  # expect: TQ201
        QueueUrl=config.url, WaitTimeSeconds=20, VisibilityTimeout=config.timeout
    )
    return answer.get("Messages", [])


def run(message):
    write_invoice(message["Body"])


def main():
    client = boto3.client("sqs")
    config = Config()
    while True:
        for message in fetch(client, config):
            run(message)


class Worker:
    def __init__(self, config):
        self.sqs = boto3.client("sqs")
        self.config = config

    def _receive(self):
        return self.sqs.receive_message(QueueUrl=self.config.url, WaitTimeSeconds=20, VisibilityTimeout=60 * self.config.minutes)["Messages"]  # expect: TQ201

    def work(self):
        while True:
            for message in self._receive():
                write_invoice(message["Body"])
