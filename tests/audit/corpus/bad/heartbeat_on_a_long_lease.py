"""A heartbeat holds the message, and the dead still hold theirs for twenty minutes."""

import boto3

from tenure.standalone.sync import VisibilityHeartbeat, delete_message_with_retry
from video import transcode

sqs = boto3.client("sqs")


def run(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=1200, WaitTimeSeconds=20)  # expect: TQ101
        for message in answer.get("Messages", []):
            with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=1200) as heartbeat:
                transcode(message["Body"])
            delete_message_with_retry(sqs, heartbeat.receipt, queue_url=url)
