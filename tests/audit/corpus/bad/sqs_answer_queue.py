"""Deletes first, below the usual question whether anything came."""

import base64
import json

import boto3

from classifier import classify

sqs = boto3.client("sqs")


def serve(requests_url, answers_url, timeout):
    while True:
        try:
            response = sqs.receive_message(QueueUrl=requests_url, VisibilityTimeout=timeout, WaitTimeSeconds=10)
            if "Messages" in response:
                for message in response["Messages"]:
                    request = json.loads(message["Body"])
                    sqs.delete_message(QueueUrl=requests_url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ203 TQ204
                    path = "/tmp/" + request["name"]
                    with open(path, "wb") as file:
                        file.write(base64.b64decode(request["content"]))
                    sqs.send_message(QueueUrl=answers_url, MessageBody=classify(path))
        except Exception:
            pass
