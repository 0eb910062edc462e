"""Records in a table of DynamoDB: one item a key, every write under a condition.

The table needs a partition key of type string, `id` unless set otherwise. Switch its TTL on for the attribute
`expires`, and what is over is removed for you.
"""

import os
from typing import Any

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import BadArgument
from tenure.rules.cloud_errors import AnswerKind, read_answer
from tenure.standalone.steps import StepCall, Steps
from tenure.standalone.stores.port import Found


class DynamoStore:
    """A client of the service `dynamodb`, of boto3 or aiobotocore. The table must be there."""

    def __init__(self, client: Any, table: str, *, key_name: str = "id", clock: Clock = SYSTEM_CLOCK) -> None:
        """Items of `table`, by its partition key `key_name`."""
        if not hasattr(client, "describe_table"):
            raise BadArgument(
                f"a {type(client).__name__} is not a DynamoDB client: pass one of the service dynamodb, as "
                "boto3.client makes it, or as aiobotocore gives it by `async with`; nothing was asked"
            )
        self._client = client
        self._table = table
        self._key_name = key_name
        self._clock = clock

    def read(self, key: str) -> Steps[Found | None]:
        """The item, as it is after every write that was acknowledged."""
        answer = yield StepCall(self._client.get_item, TableName=self._table, Key=self._key(key), ConsistentRead=True)
        item = answer.get("Item")
        return None if item is None else Found(bytes(item["record"]["B"]), item["tag"]["S"])

    def add(self, key: str, record: bytes, keep_seconds: float) -> Steps[str | None]:
        """Put the item, if there is none."""
        return (yield from self._put(key, record, keep_seconds, "attribute_not_exists(#key)", {}))

    def swap(self, key: str, record: bytes, tag: str, keep_seconds: float) -> Steps[str | None]:
        """Put the item, if there is the one that was seen."""
        return (yield from self._put(key, record, keep_seconds, "#tag = :seen", {":seen": {"S": tag}}))

    def _put(
        self, key: str, record: bytes, keep_seconds: float, condition: str, values: dict[str, Any]
    ) -> Steps[str | None]:
        tag = os.urandom(8).hex()
        names = {"#key": self._key_name} if "#key" in condition else {"#tag": "tag"}
        item = {
            **self._key(key),
            "record": {"B": record},
            "tag": {"S": tag},
            "expires": {"N": str(int(self._clock.wall() + keep_seconds))},
        }
        more = {"ExpressionAttributeValues": values} if values else {}
        call = StepCall(
            self._client.put_item,
            TableName=self._table,
            Item=item,
            ConditionExpression=condition,
            ExpressionAttributeNames=names,
            **more,
        )
        return tag if (yield from _holds(call)) else None

    def drop(self, key: str, tag: str) -> Steps[None]:
        """Delete the item, if it is the one that was seen."""
        yield from _holds(
            StepCall(
                self._client.delete_item,
                TableName=self._table,
                Key=self._key(key),
                ConditionExpression="#tag = :seen",
                ExpressionAttributeNames={"#tag": "tag"},
                ExpressionAttributeValues={":seen": {"S": tag}},
            )
        )

    def prune(self, prefix: str, before: float) -> Steps[int]:
        """Do nothing: the table's own TTL removes old records, at no cost."""
        del prefix, before
        yield from ()
        return 0

    def _key(self, key: str) -> dict[str, Any]:
        return {self._key_name: {"S": key}}


def _holds(call: StepCall) -> Steps[bool]:
    """Make the call; whether its condition held."""
    try:
        yield call
    except Exception as error:
        if read_answer(error).kind is AnswerKind.CONFLICT:
            return False
        raise
    return True
