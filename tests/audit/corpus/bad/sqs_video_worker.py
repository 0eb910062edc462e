"""Transcodes videos; the timeout was once enough for the longest of them."""

import json
import os
import subprocess

import boto3

VISIBILITY_TIMEOUT = 20 * 60


class VideoWorker:
    def __init__(self):
        session = boto3.Session(region_name=os.environ["AWS_REGION"])
        self.sqs = session.client("sqs")
        self.s3 = session.client("s3")
        self.queue_url = os.environ["QUEUE_URL"]

    def run(self):
        while True:
            messages = self.poll()
            if not messages:
                continue
            message = messages[0]
            self.sqs.delete_message(QueueUrl=self.queue_url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ203
            self.transcode(json.loads(message["Body"]))

    def poll(self):
        response = self.sqs.receive_message(  # expect: TQ101 TQ601
            QueueUrl=self.queue_url,
            MaxNumberOfMessages=1,
            VisibilityTimeout=VISIBILITY_TIMEOUT,
            WaitTimeSeconds=0,
        )
        return response.get("Messages", [])

    def transcode(self, job):
        self.s3.download_file(job["bucket"], job["key"], "/tmp/in.mp4")
        subprocess.run(["ffmpeg", "-i", "/tmp/in.mp4", "/tmp/out.mp4"], check=True)
        self.s3.upload_file("/tmp/out.mp4", job["bucket"], job["key"] + ".720p.mp4")
