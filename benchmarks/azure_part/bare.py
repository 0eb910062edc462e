"""The yardstick: a loop on the bare SDK that makes the calls that a worker makes, with rows of the same size.

    python -m benchmarks.azure_part.bare URL COUNT [counted]

For each 32 messages: receive; insert a life for each, read who is banned, insert a claim and a mark for each; a task
for each message; seal each claim and delete its mark; delete each life and change its letter; delete each message, side
by side; write an event for each. Nothing is decided, compared, remembered or tried again. The messages and their
letters are Tenure's own.
"""

import asyncio
import itertools
import json
import sys
import time
from typing import Any
from urllib.parse import urlsplit

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import UpdateMode
from azure.data.tables.aio import TableClient
from azure.storage.queue.aio import QueueClient

from benchmarks import counting
from benchmarks.worker_main import own_cpu
from tenure import envelope
from tenure.adapters.azure import read_options
from tenure.adapters.azure.entry import letter_key

QUEUE = "default-tasks"
#: What a worker writes about each message: about so many bytes.
_LIFE = b'{"id":"0123456789abcdef0123456789abcdef","owner":"machine:12345/0123abcd","deadline":1794809194.5,' * 4
_CLAIM = b'{"id":"0123456789abcdef0123456789abcdef","digest":"0123456789abcdef0123456789abcdef","owner":"m"}' * 3
#: As many deletes at once as a worker has under way.
_AT_ONCE = 24

_places = itertools.count(time.time_ns())

Row = dict[str, Any]


async def handle(_message: object) -> None:
    """A handler that does nothing."""


def _row(part: str, key: str, **fields: Any) -> Row:
    return {"PartitionKey": part, "RowKey": key, **fields}


async def _all(table: TableClient, *operations: Any) -> None:
    await table.submit_transaction(operations)


async def _some(queue: QueueClient, table: TableClient, gate: asyncio.Semaphore) -> int:
    pages = queue.receive_messages(messages_per_page=32, max_messages=32, visibility_timeout=30).by_page()
    copies = [copy async for copy in await anext(pages)]
    messages = [envelope.decode(copy.content.encode()) for copy in copies]
    ids = [message.id for message in messages]
    lives = [_row("00", f"m:{id}", Queue=QUEUE, State="leased", Owner="m", Life=_LIFE, IsUnput=False) for id in ids]
    await _all(table, *(("create", row) for row in lives))
    await table.get_entity("common", "layout")
    claims = [_row("k00", f"k:{id}", Claim=_CLAIM, State="running", At=1.0, Result=b"", Handoffs=b"") for id in ids]
    marks = [_row("k00", f"r:m:{id}", Scope=b'["default-tasks","noop","id:0123456789abcdef"]') for id in ids]
    await table.get_entity("common", "layout")
    await _all(table, *[("create", row) for row in claims], *[("upsert", row) for row in marks])
    [row async for row in table.query_entities("PartitionKey eq 'common' and RowKey ge 'p' and RowKey lt 'q'")]
    await asyncio.gather(*(asyncio.create_task(handle(message)) for message in messages))
    done = [row | {"State": "done", "Result": b"null"} for row in claims]
    await _all(
        table, *[("update", row, {"mode": UpdateMode.REPLACE}) for row in done], *[("delete", row) for row in marks]
    )
    ended = [_row("00", letter_key(id), IsEnded=True, Envelope=b"") for id in ids]
    await _all(
        table, *[("delete", row) for row in lives], *[("update", row, {"mode": UpdateMode.MERGE}) for row in ended]
    )

    async def delete(copy: Any) -> None:
        async with gate:
            await queue.delete_message(copy.id, copy.pop_receipt)

    await asyncio.gather(*(delete(copy) for copy in copies))
    events = [_row("bare", f"e:{next(_places)}", Event=_LIFE[:200], MessageId=id, At=1.0, HasIds=False) for id in ids]
    await _all(table, *(("create", row) for row in events))
    return len(copies)


async def _main(url: str, count: int) -> None:
    options = read_options(url, urlsplit(url), {})
    key = AzureNamedKeyCredential(options.account, options.key or "")
    queue_key = {"account_name": options.account, "account_key": options.key or ""}
    gate = asyncio.Semaphore(_AT_ONCE)
    async with (
        QueueClient(options.queue_endpoint, f"{options.prefix}-{QUEUE}", credential=queue_key) as queue,
        TableClient(options.table_endpoint, options.table, credential=key) as table,
    ):
        done = first = await _some(queue, table, gate)
        counting.forget()
        cpu, start = own_cpu(), time.perf_counter()
        while done < count:
            done += await _some(queue, table, gate)
        answer = {"seconds": time.perf_counter() - start, "cpu": own_cpu() - cpu, "count": done - first}
    print(json.dumps(answer | {"calls": counting.counted()}))


if __name__ == "__main__":
    if "counted" in sys.argv:
        counting.count_azure()
    asyncio.run(_main(sys.argv[1], int(sys.argv[2])))
