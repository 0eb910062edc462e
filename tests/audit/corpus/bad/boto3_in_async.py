"""A sync client in an async loop."""

import asyncio

import boto3

from pipeline import process

sqs = boto3.client("sqs")
s3 = boto3.client("s3")


async def consume(url, timeout):
    while True:
        response = sqs.receive_message(  # expect: TQ501
            QueueUrl=url, VisibilityTimeout=timeout, WaitTimeSeconds=20
        )
        for message in response.get("Messages", []):
            body = s3.get_object(Bucket="in", Key=message["Body"])["Body"].read()  # expect: TQ501
            await process(body)
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])  # expect: TQ501
        await asyncio.sleep(0)
