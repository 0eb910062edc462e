"""The yardstick: a loop on the bare SDK that makes the calls that a worker makes, with rows of the same size.

    python -m benchmarks.sqs_part.bare ENDPOINT COUNT [counted] [quick]

For each ten messages: receive; read ten rows, write down the lot, read who is banned, change ten rows; a task for each
message; change ten rows, write an event row, delete the lot; delete ten messages. Nothing is decided, compared,
remembered or tried again. The messages and their rows are Tenure's own. `quick`: the SDK's settings are those of the
adapter, which switches off the check of parameters.
"""

import asyncio
import json
import sys
import time
from typing import Any

import msgspec
from aiobotocore.config import AioConfig  # type: ignore[import-untyped]
from aiobotocore.session import AioSession  # type: ignore[import-untyped]

from benchmarks import counting
from benchmarks.worker_main import own_cpu
from tenure import envelope
from tenure.message import new_id

TABLE, QUEUE = "tenure", "default-tasks"
#: What a lease adds to an entry, and what a seal leaves of it.
_LENT = '"owner":"machine:12345/0123abcd","fence":1794809194552574,"request":"8e0c563bba7a90ba","seconds":30.0,' * 3
_EVENT = '{"kind":"completed","at":1794809194.5151834,"queue":"default-tasks","task":"noop","message_id":"%s"},'

_UPDATE = 'UPDATE "tenure" SET "d" = ? WHERE "part" = ? AND "sort" = ? AND "d" = ?'
_INSERT = """INSERT INTO "tenure" VALUE {'part': ?, 'sort': ?, 'd': ?, 'until': ?}"""
_DELETE = 'DELETE FROM "tenure" WHERE "part" = ? AND "sort" = ?'

Client = Any


async def handle(_message: object) -> None:
    """A handler that does nothing."""


def _statement(text: str, *words: str) -> dict[str, Any]:
    return {"Statement": text, "Parameters": [{"S": word} for word in words]}


def _update(id: str, text: str, expected: str) -> dict[str, Any]:
    return _statement(_UPDATE, text, f"m#{id}", "m", expected)


def _insert(part: str, sort: str, text: str) -> dict[str, Any]:
    return _statement(_INSERT, part, sort, text, "1795413994")


def _delete(part: str, sort: str) -> dict[str, Any]:
    return _statement(_DELETE, part, sort)


async def _read(dynamo: Client, keys: list[tuple[str, str]]) -> dict[str, str]:
    wanted = [{"part": {"S": part}, "sort": {"S": sort}} for part, sort in keys]
    answer = await dynamo.batch_get_item(RequestItems={TABLE: {"Keys": wanted, "ConsistentRead": True}})
    return {row["part"]["S"]: row["d"]["S"] for row in answer["Responses"][TABLE]}


async def _write(dynamo: Client, statements: list[dict[str, Any]]) -> None:
    answer = await dynamo.batch_execute_statement(Statements=statements)
    failed = [one["Error"] for one in answer["Responses"] if "Error" in one]
    if failed:
        msg = f"the yardstick is wrong: {failed[0]}"
        raise RuntimeError(msg)


async def _ten(sqs: Client, dynamo: Client, url: str, turn: int) -> int:
    answer = await sqs.receive_message(
        QueueUrl=url,
        MaxNumberOfMessages=10,
        VisibilityTimeout=40,
        WaitTimeSeconds=1,
        MessageAttributeNames=["All"],
        MessageSystemAttributeNames=["ApproximateReceiveCount", "MessageGroupId", "SentTimestamp"],
    )
    copies = answer.get("Messages", [])
    messages = [envelope.decode(copy["Body"].encode()) for copy in copies]
    ids = [message.id for message in messages]
    lot = msgspec.json.encode({"ids": ids, "until": 1.0}).decode()
    rows, _ = await asyncio.gather(
        _read(dynamo, [(f"m#{id}", "m") for id in ids]), _write(dynamo, [_insert("o#bare", str(turn), lot)])
    )
    lent = {id: rows[f"m#{id}"][:-1] + "," + _LENT[:-1] + "}" for id in ids}
    await _write(dynamo, [_update(id, lent[id], rows[f"m#{id}"]) for id in ids])
    await _read(dynamo, [("roster", "bare")])
    await asyncio.gather(*(asyncio.create_task(handle(message)) for message in messages))
    await _write(dynamo, [_update(id, lent[id] + " ", lent[id]) for id in ids])
    await sqs.delete_message_batch(
        QueueUrl=url, Entries=[{"Id": str(n), "ReceiptHandle": c["ReceiptHandle"]} for n, c in enumerate(copies)]
    )
    await _write(dynamo, [_delete("o#bare", str(turn))])
    await _write(dynamo, [_insert("bare", new_id(time.time()), "".join(_EVENT % id for id in ids))])
    return len(copies)


async def _main(endpoint: str, count: int, *, quick: bool) -> None:
    config = AioConfig(parameter_validation=False) if quick else AioConfig()
    words = {"region_name": "eu-west-1", "endpoint_url": endpoint, "config": config}
    session = AioSession()
    async with session.create_client("sqs", **words) as sqs, session.create_client("dynamodb", **words) as dynamo:
        url = (await sqs.get_queue_url(QueueName=QUEUE))["QueueUrl"]
        done = await _ten(sqs, dynamo, url, 0)
        first, turn = done, 0
        counting.forget()
        cpu, start = own_cpu(), time.perf_counter()
        while done < count:
            turn += 1
            done += await _ten(sqs, dynamo, url, turn)
        answer = {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu, "count": done - first}
    print(json.dumps(answer | {"calls": counting.counted()}))


if __name__ == "__main__":
    if "counted" in sys.argv:
        counting.count_aws()
    asyncio.run(_main(sys.argv[1], int(sys.argv[2]), quick="quick" in sys.argv))
