"""Errors that somebody decided about before the delete."""

import logging
import os

import boto3

from jobs import keep_for_later, note, run

logger = logging.getLogger(__name__)
sqs = boto3.client("sqs")
TIMEOUT = int(os.environ["TIMEOUT"])


def messages(url):
    answer = sqs.receive_message(QueueUrl=url, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=20)
    return answer.get("Messages", [])


def flagged(url):
    for message in messages(url):
        ok = True
        try:
            run(message["Body"])
        except Exception:
            logger.exception("failed")
            ok = False
        if ok:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def left(url):
    for message in messages(url):
        try:
            run(message["Body"])
        except Exception:
            logger.exception("failed")
            continue
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def put_aside(url):
    for message in messages(url):
        try:
            run(message["Body"])
        except Exception:
            keep_for_later(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def beside_the_work(url):
    for message in messages(url):
        try:
            note(message["Body"])
        except Exception:
            logger.warning("not noted")
        run(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def narrow(url):
    for message in messages(url):
        try:
            run(message["Body"])
        except FileNotFoundError:
            logger.info("gone: nothing to do")
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def tried_thrice(url):
    for message in messages(url):
        for _attempt in range(3):
            try:
                run(message["Body"])
                break
            except Exception:
                logger.exception("again")
        else:
            continue
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def in_its_else(url):
    for message in messages(url):
        try:
            run(message["Body"])
        except Exception:
            logger.exception("failed")
        else:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])


def listed_in_its_else(url):
    done = []
    failed = []
    for message in messages(url):
        try:
            run(message["Body"])
        except Exception:
            logger.exception("failed")
        else:
            done.append({"Id": message["MessageId"], "ReceiptHandle": message["ReceiptHandle"]})
        failed.append(message["MessageId"])
    return sqs.delete_message_batch(QueueUrl=url, Entries=done).get("Failed")
