"""Several queues in turn, none of which may keep the others waiting; messages held by an object that deletes them."""

import time

import boto3

from leasing import MessageLease
from parcels import ship

sqs = boto3.client("sqs")


def run(urls, timeout):
    while True:
        for url in urls:
            answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=timeout, WaitTimeSeconds=0)
            for message in answer.get("Messages", []):
                with MessageLease(sqs, url, message):
                    ship(message["Body"])
        time.sleep(1)


def test_a_parcel_is_announced(url):
    ship("parcel")
    answer = sqs.receive_message(QueueUrl=url)
    assert len(answer["Messages"]) == 1
    assert "parcel" in answer["Messages"][0]["Body"]
