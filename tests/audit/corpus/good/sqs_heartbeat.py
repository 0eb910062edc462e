"""Short lease, held by a heartbeat; delete after the work. The numbers in the code are the crash window."""

import json

import boto3

from tenure.standalone.sync import VisibilityHeartbeat, delete_message_with_retry
from video import transcode

sqs = boto3.client("sqs")


def run(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1, VisibilityTimeout=30, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=30) as heartbeat:
                transcode(json.loads(message["Body"]))
            ok, error = delete_message_with_retry(sqs, heartbeat.receipt, queue_url=url)
            if not ok:
                print("not deleted:", error)
