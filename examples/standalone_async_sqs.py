"""A loop of your own on SQS with aiobotocore: several messages at once, each held, done once and deleted.

    python standalone_async_sqs.py

Needs `aiobotocore` and credentials as it finds them; it makes a queue and a DynamoDB table, both `tenure-orders`, and
removes them. Without an account: see standalone_heartbeat.py.
"""

import asyncio
import sys
from typing import Any

from aiobotocore.session import get_session  # type: ignore[import-untyped]
from botocore.exceptions import NoCredentialsError, NoRegionError  # type: ignore[import-untyped]

from tenure.standalone import MessageDeduplicator, MessageDeletionTracker, VisibilityHeartbeat
from tenure.standalone.stores import DynamoStore

NAME = "tenure-orders"
TIMEOUT = 30


async def main() -> None:
    """Six messages, three of them sent twice."""
    session = get_session()
    async with session.create_client("sqs") as sqs, session.create_client("dynamodb") as dynamodb:
        url = (await sqs.create_queue(QueueName=NAME))["QueueUrl"]
        await dynamodb.create_table(
            TableName=NAME,
            BillingMode="PAY_PER_REQUEST",
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        )
        await dynamodb.get_waiter("table_exists").wait(TableName=NAME)
        deduplicator = MessageDeduplicator("billing", store=DynamoStore(dynamodb, NAME))
        tracker = MessageDeletionTracker("billing")
        charged: list[str] = []

        async def handle(message: Any) -> None:
            order = message["Body"]
            held = VisibilityHeartbeat(sqs, message, queue_url=url, visibility_timeout=TIMEOUT)
            async with held, deduplicator.once(order) as turn:
                if turn.is_first:
                    charged.append(order)
            if turn.is_running:  # somebody else is at it: look again soon
                await held.release(after=1)
            else:
                tracker.count(await held.delete())

        orders = ["order-1", "order-2", "order-3"] * 2
        for order in orders:
            await sqs.send_message(QueueUrl=url, MessageBody=order)
        while tracker.successful_deletions < len(orders):
            answer = await sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=3, VisibilityTimeout=TIMEOUT, WaitTimeSeconds=1
            )
            await asyncio.gather(*map(handle, answer.get("Messages", [])))

        print("charged:", sorted(charged))
        print("deleted:", tracker.get_stats()["outcomes"])
        print("met again:", deduplicator.get_stats()["duplicates_detected"], "times")
        await asyncio.gather(sqs.delete_queue(QueueUrl=url), dynamodb.delete_table(TableName=NAME))


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (NoRegionError, NoCredentialsError):
        sys.exit("Set AWS_DEFAULT_REGION and AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; see the top.")
