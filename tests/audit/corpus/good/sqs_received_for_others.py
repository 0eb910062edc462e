"""Receives and returns: one caller here gives the messages on, another keeps them, and who deletes is not in this file."""

import boto3
from shop.inbox import take_in

sqs = boto3.client("sqs")


def fetch(url, seconds):
    return sqs.receive_message(QueueUrl=url, WaitTimeSeconds=20, VisibilityTimeout=seconds).get("Messages", [])


def give_on(url, seconds):
    for message in fetch(url, seconds):
        take_in(message)


class Inbox:
    def __init__(self):
        self.waiting = []

    def fill(self, url, seconds):
        for message in fetch(url, seconds):
            self.waiting.append(message)
