"""Deletes before the work: as a batch, by a function of its own, and on a stream."""

import os

import boto3
import redis

from imports import take_in

sqs = boto3.client("sqs")
client = redis.Redis()
TIMEOUT = int(os.environ["TIMEOUT"])


def whole_batch(url):
    while True:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20
        )
        messages = answer.get("Messages", [])
        entries = [{"Id": one["MessageId"], "ReceiptHandle": one["ReceiptHandle"]} for one in messages]
        failed = sqs.delete_message_batch(QueueUrl=url, Entries=entries).get("Failed")  # expect: TQ203
        for message in messages:
            take_in(message["Body"])
        print(failed)


def acknowledge(url, message):
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def one_by_one(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    for message in answer.get("Messages", []):
        acknowledge(url, message)  # expect: TQ203
        take_in(message["Body"])


def entry(name):
    client.xautoclaim("imports", "loading", name, 60_000)
    for _, entries in client.xreadgroup("loading", name, {"imports": ">"}, block=1000):
        for entry_id, fields in entries:
            client.xack("imports", "loading", entry_id)  # expect: TQ203
            take_in(fields)
