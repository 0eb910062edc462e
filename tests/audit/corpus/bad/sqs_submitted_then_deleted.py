"""Work for a pool of threads, and the messages deleted as soon as it has them."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import boto3

from exports import export, export_all

sqs = boto3.client("sqs")
pool = ThreadPoolExecutor(8)
TIMEOUT = int(os.environ["SQS_VISIBILITY_TIMEOUT"])


def pooled(url):
    while True:
        answer = sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20
        )
        for message in answer.get("Messages", []):
            pool.submit(export, json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ208


def threaded(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    for message in answer.get("Messages", []):
        try:
            thread = Thread(target=export_all, args=(message["Body"],), daemon=True)
            thread.start()
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ208
        except RuntimeError:
            print("no more threads")
