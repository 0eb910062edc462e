"""One look, no loop; its queue waits by itself and was made with a timeout."""

import boto3

from tenure.standalone.sync import calculate_visibility_timeout, delete_message_with_retry
from nightly import export

sqs = boto3.client("sqs")


def main(name):
    attributes = {"ReceiveMessageWaitTimeSeconds": "20", "VisibilityTimeout": "600"}
    url = sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    timeout = calculate_visibility_timeout("content-collector")
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=timeout)
        if "Messages" not in answer:
            break
        for message in answer["Messages"]:
            export(message["Body"])
            delete_message_with_retry(sqs, message, queue_url=url)


def peek(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=0)
    return [message["Body"] for message in answer.get("Messages", [])]


def announce(url, tell):
    for message in sqs.receive_message(QueueUrl=url, VisibilityTimeout=0, MaxNumberOfMessages=10).get("Messages", []):
        tell(message["Body"])


def once(url):
    for message in sqs.receive_message(QueueUrl=url).get("Messages", []):
        export(message["Body"])
        delete_message_with_retry(sqs, message, queue_url=url)
