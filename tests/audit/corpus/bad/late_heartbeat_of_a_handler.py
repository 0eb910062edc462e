"""A handler that downloads first; the piece that it uses would have held the message."""

import json
import os

import boto3
from tenure.standalone.sync import VisibilityHeartbeat, delete_message_with_retry

from video import transcode

s3 = boto3.client("s3")
sqs = boto3.client("sqs")


def handle(message, url):
    job = json.loads(message["Body"])
    s3.download_file(job["bucket"], job["key"], "/tmp/video")  # expect: TQ302
    with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=30) as heartbeat:
        transcode("/tmp/video")
    delete_message_with_retry(sqs, heartbeat.receipt, queue_url=url)


def main():
    url = os.environ["QUEUE_URL"]
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=30, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            handle(message, url)
