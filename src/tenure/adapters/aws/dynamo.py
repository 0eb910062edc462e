"""The table on DynamoDB: one physical table, `part` and `sort` as its key, the text as an attribute.

Many conditional writes go in one call (BatchExecuteStatement, 25 to a call), each with an answer of its own; many rows
are read in one (BatchGetItem). Reads are consistent. No secondary index: everything is found by its key, because an
index would double the price of every write, and be late. By `forget` DynamoDB removes old rows itself; it is rarely
changed, by a call of its own.
"""

import asyncio
import logging
import random
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from tenure.adapters.aws import faults
from tenure.adapters.aws.session import Session
from tenure.errors import BrokerError, BrokerUnavailable, PermissionMissing, StoreMissing
from tenure.retry import RetryPolicy
from tenure.rules.cloud_errors import AnswerKind
from tenure.table import KEEP, Row, RowKey, Scanned, Write, split_mark, text_versions

T = TypeVar("T")

logger = logging.getLogger("tenure.aws")

#: The attribute by which DynamoDB removes a row itself.
_FORGET = "forget"
_WRITES, _READS = 25, 100
#: A batch that was only partly answered is asked for the rest so often.
_AGAIN = RetryPolicy(max_attempts=6, first_delay_seconds=0.05)


class DynamoTable:
    """Rows in one table of DynamoDB."""

    #: Rows whose time is over are removed by the service, for nothing.
    forgets = True

    def __init__(self, session: Session) -> None:
        """Use `session`, which its maker opens and closes."""
        self._session = session
        self._name = session.options.table
        self._is_there = False

    async def open(self) -> None:
        """Look whether the table is there; make it if that was asked for."""
        if self._is_there:
            return
        try:
            described = await self._call("describe_table", TableName=self._name)
        except StoreMissing:
            if not self._session.options.create:
                raise
            await self._create()
        else:
            self._check(described["Table"])
            await self._check_forgetting()
        self._is_there = True

    async def close(self) -> None:
        """Do nothing: the session's maker closes it."""

    def now(self) -> float:
        return self._session.timeline.now()

    def earliest(self) -> float:
        """The moment, if it is as early as the answers so far allow."""
        return self._session.timeline.earliest()

    def latest(self) -> float:
        """The moment, if it is as late as the answers so far allow."""
        return self._session.timeline.latest()

    def wall(self) -> float:
        return self._session.timeline.wall()

    async def get(self, places: Sequence[RowKey]) -> list[Row | None]:
        found: dict[RowKey, Row] = {}
        for some in _portions(list(dict.fromkeys(places)), _READS):
            keys = [{"part": {"S": one.part}, "sort": {"S": one.sort}} for one in some]
            for attempt in range(1, _AGAIN.max_attempts + 1):
                request = {self._name: {"Keys": keys, "ConsistentRead": True}}
                answer = await self._call("batch_get_item", RequestItems=request)
                rows = map(_row, answer["Responses"].get(self._name, ()))
                found |= {row.place: row for row in rows}
                keys = answer.get("UnprocessedKeys", {}).get(self._name, {}).get("Keys", [])
                if not keys:
                    break
                await asyncio.sleep(_AGAIN.delay_seconds(attempt, random.random))
            else:
                raise BrokerUnavailable(f"{self._place} leaves {len(keys)} of {len(some)} reads undone; tried again")
        return [found.get(place) for place in places]

    async def write(self, batch: Sequence[Write]) -> list[str | None]:
        answers: dict[int, bool] = {}
        together = [number for number, one in enumerate(batch) if not _is_alone(one)]
        alone = [number for number, one in enumerate(batch) if _is_alone(one)]
        try:
            for some in _portions(together, _WRITES):
                answers |= dict(zip(some, await self._write([batch[number] for number in some]), strict=True))
            for number in alone:
                answers[number] = await self._put(batch[number])
        except BrokerUnavailable as error:
            if error.outcome_unknown or not answers:
                raise
            raise BrokerUnavailable(f"{error}; a part of it was done", outcome_unknown=True) from error
        return text_versions(batch, [answers[number] for number in range(len(batch))])

    async def page(self, part: str, *, after: str = "", limit: int = 100, backwards: bool = False) -> list[Row]:
        condition, values = "#part = :part", {":part": {"S": part}}
        names = {"#part": "part"}
        if after:
            condition += " AND #sort < :after" if backwards else " AND #sort > :after"
            values[":after"] = {"S": after}
            names["#sort"] = "sort"
        words = {
            "TableName": self._name, "ConsistentRead": True, "ScanIndexForward": not backwards,
            "KeyConditionExpression": condition, "ExpressionAttributeNames": names, "ExpressionAttributeValues": values,
        }  # fmt: skip
        rows: list[Row] = []
        while len(rows) < limit:
            answer = await self._call("query", Limit=limit - len(rows), **words)
            rows += map(_row, answer["Items"])
            if "LastEvaluatedKey" not in answer:
                break
            words["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        return rows

    async def scan(self, beginning: str, sort: str, *, after: str = "", limit: int = 1000) -> Scanned:
        """One call, which reads up to `limit` rows or a megabyte. Paid by what it reads: half a unit for each 4 KB."""
        words: dict[str, Any] = {
            "TableName": self._name,
            "Limit": limit,
            "FilterExpression": "#sort = :sort AND begins_with(#part, :part)",
            "ExpressionAttributeNames": {"#part": "part", "#sort": "sort"},
            "ExpressionAttributeValues": {":part": {"S": beginning}, ":sort": {"S": sort}},
        }
        if after:
            part, at = split_mark(after)
            words["ExclusiveStartKey"] = {"part": {"S": part}, "sort": {"S": at}}
        answer = await self._call("scan", **words)
        last = answer.get("LastEvaluatedKey")
        mark = f"{last['part']['S']}\n{last['sort']['S']}" if last else ""
        rows = [(row, "\n".join(row.place)) for row in map(_row, answer["Items"])]
        return Scanned(rows, int(answer.get("ScannedCount", len(rows))), mark)

    @property
    def _place(self) -> str:
        return self._session.options.state_place

    async def _call(self, operation: str, **words: Any) -> Any:
        return await self._session.call("dynamodb", operation, self._place, **words)

    async def _write(self, batch: Sequence[Write]) -> list[bool]:
        """One call; what the service leaves undone because it is busy is asked for again."""
        done: dict[int, bool] = {}
        in_doubt: set[int] = set()
        for attempt in range(1, _AGAIN.max_attempts + 1):
            left = [number for number in range(len(batch)) if number not in done]
            statements = [self._statement(batch[number]) for number in left]
            answer = await self._call("batch_execute_statement", Statements=statements)
            for number, one in zip(left, answer["Responses"], strict=True):
                said = self._read(one)
                if said in _PASSING:
                    in_doubt |= {number} if said is AnswerKind.PASSING else set()
                    continue
                if said is AnswerKind.CONFLICT and number in in_doubt:
                    # Another writer was faster, or we were, when the service said that it was in trouble.
                    text = f"{self._place} was in trouble; a write may have been carried out"
                    raise BrokerUnavailable(text, outcome_unknown=True)
                done[number] = said is None
            if len(done) == len(batch):
                return [done[number] for number in range(len(batch))]
            await asyncio.sleep(_AGAIN.delay_seconds(attempt, random.random))
        undone = len(batch) - len(done)
        text = f"{self._place} is busy and leaves {undone} of {len(batch)} writes undone; tried again"
        raise BrokerUnavailable(text, outcome_unknown=bool(done or in_doubt))

    def _read(self, answer: dict[str, Any]) -> AnswerKind | None:
        """What came of one statement. None: it took effect."""
        error = answer.get("Error")
        if error is None:
            return None
        code, text = str(error.get("Code", "")), str(error.get("Message", ""))
        said = faults.of_entry(code, text, is_theirs=code.startswith("Internal"))
        if said.kind is AnswerKind.CONFLICT or said.kind in _PASSING:
            return said.kind
        raise faults.refused(said, text, "a write", self._place)

    def _statement(self, one: Write) -> dict[str, Any]:
        part, sort = {"S": one.place.part}, {"S": one.place.sort}
        name, where = f'"{self._name}"', 'WHERE "part" = ? AND "sort" = ?'
        if one.text is None:
            check = [] if one.expected is None else [{"S": one.expected}]
            text = f"DELETE FROM {name} {where}" + (' AND "d" = ?' if check else "")  # noqa: S608 - a checked name
            return {"Statement": text, "Parameters": [part, sort, *check]}
        if one.expected is None:
            forget = [] if one.forget_at is None else [{"N": str(int(one.forget_at))}]
            item = "{'part': ?, 'sort': ?, 'd': ?" + (", 'forget': ?}" if forget else "}")
            return {
                "Statement": f"INSERT INTO {name} VALUE {item}",
                "Parameters": [part, sort, {"S": one.text}, *forget],
            }
        text = f'UPDATE {name} SET "d" = ? {where} AND "d" = ?'  # noqa: S608 - likewise
        return {"Statement": text, "Parameters": [{"S": one.text}, part, sort, {"S": one.expected}]}

    async def _put(self, one: Write) -> bool:
        """Change a row that is there, and when it is forgotten."""
        item = {"part": {"S": one.place.part}, "sort": {"S": one.place.sort}, "d": {"S": one.text}}
        if one.forget_at is not None:
            item["forget"] = {"N": str(int(one.forget_at))}
        try:
            await self._call(
                "put_item", TableName=self._name, Item=item, ConditionExpression="#d = :before",
                ExpressionAttributeNames={"#d": "d"}, ExpressionAttributeValues={":before": {"S": one.expected}},
            )  # fmt: skip
        except BrokerError as error:
            if not faults.is_conflict(error):
                raise
            return False
        return True

    async def _create(self) -> None:
        try:
            await self._call(
                "create_table", TableName=self._name, BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[
                    {"AttributeName": "part", "AttributeType": "S"}, {"AttributeName": "sort", "AttributeType": "S"},
                ],
                KeySchema=[
                    {"AttributeName": "part", "KeyType": "HASH"}, {"AttributeName": "sort", "KeyType": "RANGE"},
                ],
            )  # fmt: skip
        except BrokerError as error:
            if "ResourceInUseException" not in str(error):  # another process makes it at this moment
                raise
        for _ in range(_PATIENCE):
            described = await self._call("describe_table", TableName=self._name)
            if described["Table"]["TableStatus"] == "ACTIVE":
                break
            await asyncio.sleep(1.0)
        else:
            raise BrokerUnavailable(f"{self._place} was asked for and is not there after {_PATIENCE} s; tried again")
        specification = {"Enabled": True, "AttributeName": _FORGET}
        try:
            await self._call("update_time_to_live", TableName=self._name, TimeToLiveSpecification=specification)
        except BrokerError as error:
            if "ValidationException" not in str(error):  # it is switched on already
                raise

    async def _check_forgetting(self) -> None:
        """A table that was made by others may keep everything for ever, which works, and costs."""
        try:
            answer = await self._call("describe_time_to_live", TableName=self._name)
        except PermissionMissing:
            return  # needed for nothing else
        said = answer["TimeToLiveDescription"]
        if said.get("TimeToLiveStatus") not in ("ENABLED", "ENABLING") or said.get("AttributeName") != _FORGET:
            logger.warning(
                "%s has no time to live: enable it on the attribute %r, or the table grows for ever",
                self._place,
                _FORGET,
            )

    def _check(self, table: dict[str, Any]) -> None:
        keys = {one["KeyType"]: one["AttributeName"] for one in table["KeySchema"]}
        if keys != {"HASH": "part", "RANGE": "sort"}:
            msg = f"{self._place} is not Tenure's: its key is {keys}; name another table. Nothing was changed"
            raise StoreMissing(msg)


#: A statement may pass when it is said again.
_PASSING = frozenset({AnswerKind.PASSING, AnswerKind.THROTTLED})
#: Seconds until a new table must be there.
_PATIENCE = 60


def _portions(all_: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    return (all_[start : start + size] for start in range(0, len(all_), size))


def _is_alone(one: Write) -> bool:
    return one.text is not None and one.expected is not None and one.forget_at != KEEP


def _row(item: dict[str, Any]) -> Row:
    return Row(RowKey(item["part"]["S"], item["sort"]["S"]), item["d"]["S"])
