"""Comments that hide nothing."""

import boto3

from jobs import run

sqs = boto3.client("sqs")


def once(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=60)  # tenure: ignore  # expect: TQ101 TQ902
    message = answer["Messages"][0]
    run(message["Body"])
    sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # tenure: ignore[TQ999]  # expect: TQ902


def mended(url, timeout):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=timeout)  # tenure: ignore[TQ101]  # expect: TQ903
    for message in answer["Messages"]:
        run(message["Body"])
        # tenure: ignore[TQ203]  # expect: TQ903
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
