"""A boto3 loop as it is often written first."""

import json
import logging

import boto3

from thumbnails import render

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs", region_name="eu-west-1")
QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/123456789012/thumbnails"


def main():
    while True:
        response = sqs.receive_message(QueueUrl=QUEUE_URL, MaxNumberOfMessages=10)  # expect: TQ102 TQ103 TQ601
        for message in response.get("Messages", []):
            job = json.loads(message["Body"])
            try:
                render(job["image"], job["width"])
            except Exception:
                logger.exception("failed")
            finally:
                sqs.delete_message(QueueUrl=QUEUE_URL, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ202


if __name__ == "__main__":
    main()
