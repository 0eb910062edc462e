"""A batch that runs all at once, one whose lease is multiplied, and one whose messages get a lease each."""

from concurrent.futures import ThreadPoolExecutor

import boto3

from pages import crawl

sqs = boto3.client("sqs")
BATCH = 10


def run_at_once(url, seconds):
    with ThreadPoolExecutor(BATCH) as executor:
        while True:
            answer = sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=BATCH, VisibilityTimeout=seconds, WaitTimeSeconds=20
            )
            for message in answer.get("Messages", []):
                executor.submit(handle, url, message)


def run_in_turn(url, seconds):
    answer = sqs.receive_message(
        QueueUrl=url, MaxNumberOfMessages=BATCH, VisibilityTimeout=seconds * BATCH, WaitTimeSeconds=20
    )
    for message in answer.get("Messages", []):
        handle(url, message)


def run_with_turns(url, seconds):
    answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=BATCH, VisibilityTimeout=seconds)
    for message in answer.get("Messages", []):
        sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds)
        handle(url, message)


def handle(url, message):
    crawl(message["Body"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
