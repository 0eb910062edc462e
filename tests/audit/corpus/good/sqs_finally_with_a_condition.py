"""A `finally` that deletes only what was done, and one that only cleans up."""

import os

import boto3

from reports import build

sqs = boto3.client("sqs")


def handle(url, message):
    done = False
    try:
        build(message["Body"])
        done = True
    finally:
        if done:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def handle_with_file(url, message):
    path = "/tmp/report.pdf"
    try:
        build(message["Body"], path)
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    finally:
        os.remove(path)


def temporary_queue(name):
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    try:
        sqs.send_message(QueueUrl=url, MessageBody="hello")
    finally:
        sqs.delete_queue(QueueUrl=url)
