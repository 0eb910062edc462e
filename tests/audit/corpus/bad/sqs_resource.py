"""boto3's resources: the queue and its messages are objects."""

import boto3

from billing import charge

sqs = boto3.resource("sqs")
queue = sqs.get_queue_by_name(QueueName="invoices")


def work():
    while True:
        for message in queue.receive_messages(MaxNumberOfMessages=10, VisibilityTimeout=120):  # expect: TQ101 TQ103 TQ601
            try:
                charge(message.body)
                message.delete()  # expect: TQ204
            except:  # noqa
                pass


def drain():
    batch = queue.receive_messages(MaxNumberOfMessages=10, VisibilityTimeout=30, WaitTimeSeconds=1)  # expect: TQ101
    queue.delete_messages(Entries=[{"Id": m.message_id, "ReceiptHandle": m.receipt_handle} for m in batch])  # expect: TQ205
