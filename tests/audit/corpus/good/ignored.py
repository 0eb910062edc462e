"""True, deliberate, and said so."""

import boto3

from jobs import run

sqs = boto3.client("sqs")


def once(url):
    # A tool for one machine: nobody else receives. tenure: ignore in words is no comment of ours.
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=60)  # tenure: ignore[TQ101]
    message = answer["Messages"][0]
    # tenure: ignore[TQ203]
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    run(message["Body"])


def loop(url):
    while True:
        answer = sqs.receive_message(
            QueueUrl=url,
            VisibilityTimeout=60,  # tenure: ignore[TQ101,TQ601]
        )
        for message in answer.get("Messages", []):
            run(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
