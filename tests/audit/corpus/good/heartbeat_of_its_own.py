"""A heartbeat in a thread, written by hand."""

import logging
import threading

import boto3

from video import transcode

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")


def keep(url, receipt, stop):
    while not stop.wait(10):
        try:
            sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=30)
        except sqs.exceptions.ReceiptHandleIsInvalid:
            return
        except Exception:
            logger.exception("not extended; tried again in 10 s")


def run(url):
    while True:
        answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=30, WaitTimeSeconds=20)
        for message in answer.get("Messages", []):
            stop = threading.Event()
            beat = threading.Thread(target=keep, args=(url, message["ReceiptHandle"], stop))
            beat.start()
            try:
                transcode(message["Body"])
            finally:
                stop.set()
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
