"""A heartbeat on SQS with plain boto3: a message is hidden for as long as it is worked on, and no longer.

    python standalone_heartbeat.py

Needs `boto3` and credentials as boto3 finds them; it makes a queue `tenure-videos` and removes it. Without an account:
`pip install ministack`, run `ministack`, and set AWS_ENDPOINT_URL=http://localhost:4566, AWS_DEFAULT_REGION,
AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to anything.
"""

import sys
import time
from typing import Any

import boto3  # type: ignore[import-untyped]
from botocore.exceptions import NoCredentialsError, NoRegionError  # type: ignore[import-untyped]

from tenure.standalone.sync import VisibilityHeartbeat

TIMEOUT = 5  # seconds: how soon somebody else gets the message if we die


def transcode(message: Any) -> str:
    """Takes longer than the timeout."""
    time.sleep(1.5 * TIMEOUT)
    return f"{message['Body']} is done"


def receive(sqs: Any, url: str) -> Any:
    """One message, or None."""
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=1)
    return next(iter(answer.get("Messages", [])), None)


def main() -> None:
    """One message, one long run."""
    sqs = boto3.client("sqs")
    url = sqs.create_queue(QueueName="tenure-videos")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="match.mp4")
    message = receive(sqs, url)

    # In a thread of its own, at every third of the timeout. If the lease is lost, the block ends in LeaseLost, and
    # nothing is deleted.
    with VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=TIMEOUT) as heartbeat:
        print(transcode(message))
        print("meanwhile others received:", receive(sqs, url))
        # By the heartbeat, not by `message`: on some services each beat replaces the receipt.
        print("deleted:", heartbeat.delete().ok)
    print("extended:", heartbeat.extension_count > 1, "- last error:", heartbeat.last_error)
    sqs.delete_queue(QueueUrl=url)


if __name__ == "__main__":
    try:
        main()
    except (NoRegionError, NoCredentialsError):
        sys.exit("Set AWS_DEFAULT_REGION and AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; see the top.")
