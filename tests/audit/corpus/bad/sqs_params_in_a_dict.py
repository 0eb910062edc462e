"""The words of the request are in a dict."""

import boto3

from orders import ship

sqs = boto3.client("sqs")

RECEIVE = {
    "QueueUrl": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders",
    "MaxNumberOfMessages": 5,
    "VisibilityTimeout": 60,
    "WaitTimeSeconds": 20,
}


def consume():
    while True:
        answer = sqs.receive_message(**RECEIVE)  # expect: TQ101 TQ103
        entries = []
        for number, message in enumerate(answer.get("Messages", [])):
            ship(message["Body"])
            entries.append({"Id": str(number), "ReceiptHandle": message["ReceiptHandle"]})
        if entries:
            sqs.delete_message_batch(QueueUrl=RECEIVE["QueueUrl"], Entries=entries)  # expect: TQ205
