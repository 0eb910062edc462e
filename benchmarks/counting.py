"""Counting: every request that leaves this process for a cloud, taken down at the SDK's own transport.

What a request was is read from it later, when nothing is measured any more: to take it down costs next to nothing, and
what is sold is requests, or units of what is in them. Used by `cloud_worker.py` and the bare loops.
"""

import json
import math
import re
from collections import Counter
from typing import Any

#: DynamoDB sells writes by so many bytes, and reads.
_WRITTEN, _READ = 1024, 4096
#: SQS sells a request that carries more than this as several.
_SQS_UNIT = 65_536
#: Characters of a receipt as SQS makes them; those of a stand-in are shorter, and would make rows look cheaper.
_RECEIPT = 412
_receipt = re.compile(r'"receipt":"([^"]*)"')

_taken: list[Any] = []


def count_aws() -> None:
    """Take down what aiobotocore sends from now on."""
    from aiobotocore.httpsession import AIOHTTPSession  # type: ignore[import-untyped]  # noqa: PLC0415

    send = AIOHTTPSession.send

    async def sending(self: Any, request: Any) -> Any:
        _taken.append((request.headers.get("X-Amz-Target"), request.body, len(request.body or b"")))
        return await send(self, request)

    AIOHTTPSession.send = sending


def count_azure() -> None:
    """Take down what the SDK for storage accounts sends from now on."""
    from azure.core.pipeline.transport import AioHttpTransport  # noqa: PLC0415

    send = AioHttpTransport.send

    async def sending(self: Any, request: Any, **options: Any) -> Any:
        _taken.append((request.method, request.url, len(request.body or b"")))
        return await send(self, request, **options)

    AioHttpTransport.send = sending


def forget() -> None:
    """Count from here."""
    _taken.clear()


def counted() -> dict[str, float]:
    """How often each operation was asked for, units of reading and writing, and bytes that were sent."""
    found: Counter[str] = Counter()
    for one, other, size in _taken:
        found["bytes"] += size
        if isinstance(one, str) and one.isupper():
            found[_azure(one, other)] += 1
        else:
            _aws(found, _text(one), other)
    return dict(found)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _aws(found: Counter[str], target: str, body: Any) -> None:
    service, _, operation = target.partition(".")
    found[operation] += 1
    if service.startswith("AmazonSQS"):
        found["SQS units"] += max(1, _units_of(len(body or b""), _SQS_UNIT))
    if operation == "ChangeMessageVisibilityBatch":
        found["beats"] += len(json.loads(body)["Entries"])
    if service.startswith("DynamoDB"):
        found["write units"] += _written(operation, json.loads(body))
        found["read units"] += _read(operation, json.loads(body))


def _written(operation: str, body: dict[str, Any]) -> int:
    """Units for what is written, by its size as it was sent; a write that was refused is sold too."""
    if operation == "PutItem":
        return _units(body["Item"], _WRITTEN)
    if operation != "BatchExecuteStatement":
        return 0
    return sum(_statement(one) for one in body["Statements"])


def _statement(one: dict[str, Any]) -> int:
    parameters = [_length(str(value)) for parameter in one["Parameters"] for value in parameter.values()]
    if one["Statement"].startswith("UPDATE"):  # the new text, the key, and what is expected, which is not stored too
        return math.ceil((max(parameters[0], parameters[-1]) + sum(parameters[1:3]) + 16) / _WRITTEN)
    return math.ceil((sum(parameters) + 16) / _WRITTEN)


def _length(text: str) -> int:
    """Bytes, as they would be with a receipt of SQS's own."""
    found = _receipt.search(text)
    return len(text.encode()) + (max(0, _RECEIPT - len(found[1])) if found is not None and found[1] else 0)


def _read(operation: str, body: dict[str, Any]) -> int:
    """Units for what is read; rows are smaller than a unit, and one that is not there is a unit too."""
    if operation == "BatchGetItem":
        return sum(len(table["Keys"]) for table in body["RequestItems"].values())
    return 1 if operation == "Query" else 0


def _units(value: Any, size: int) -> int:
    return _units_of(len(json.dumps(value)), size)


def _units_of(length: int, size: int) -> int:
    return math.ceil(length / size)


#: What a part of the query says of a request.
_AZURE_MARKS = {"comp=appendblock": "Append Block", "comp=metadata": "Queue Metadata", "comp=list": "List Queues"}


def _azure(method: str, url: str) -> str:
    """The service's name for it."""
    where, _, query = url.partition("?")
    if "/messages" in where:
        if method == "GET":
            return "Peek Messages" if "peekonly=true" in query else "Get Messages"
        return {"POST": "Put Message", "PUT": "Update Message", "DELETE": "Delete Message"}[method]
    if where.endswith("$batch"):
        return "Table Batch"
    if "(" in where.rpartition("/")[2]:
        queried = where.endswith("()")
        return ("Query Entities" if queried else "Get Entity") if method == "GET" else "Table Change"
    if method == "POST":  # an insert; queues and containers are made by PUT
        return "Table Change"
    return next((name for mark, name in _AZURE_MARKS.items() if mark in query), f"{method} other")
