"""Runs ministack with a clock that its clients may set: `python aws_ministack.py PORT [lenient]`, a process of its own.

A request with the header `x-test-now` is served at that moment (Unix seconds), so that tests in virtual time see
messages come back after virtual seconds. Without the header the time is the machine's. `lenient`: any receipt that
was ever given out deletes the message, and changes its visibility, as standard queues may do. Started by `aws.py`.
"""

import os
import sys
import time
from typing import Any

_real = time.time
_moment: list[float] = []


def _now() -> float:
    return _moment[0] if _moment else _real()


def _take_stale_receipts(sqs: Any) -> None:
    """Every receipt of a message stands for its latest one, where a delete or another visibility is asked for."""
    issued: dict[str, dict[str, Any]] = {}
    collect = sqs._collect_msgs

    def collecting(*words: Any) -> Any:
        messages = collect(*words)
        issued.update({message["receipt_handle"]: message for message in messages})
        return messages

    def latest(words: dict[str, Any]) -> dict[str, Any]:
        known = issued.get(words.get("ReceiptHandle", ""))
        return words | {"ReceiptHandle": known["receipt_handle"]} if known is not None else words

    table = next(value for value in vars(sqs).values() if isinstance(value, dict) and "DeleteMessage" in value)
    for name in ("DeleteMessage", "ChangeMessageVisibility"):
        one, many = table[name], table[f"{name}Batch"]
        table[name] = lambda data, url, one=one: one(latest(data), url)
        table[f"{name}Batch"] = lambda data, url, many=many: many(
            data | {"Entries": list(map(latest, data["Entries"]))}, url
        )
    sqs._collect_msgs = collecting


def main() -> None:
    """Serve until killed."""
    port = int(sys.argv[1])
    os.environ |= {
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "SERVICES": "sqs,dynamodb,s3,monitoring,cloudwatch",
        "LOG_LEVEL": "ERROR",
    }
    time.time = _now
    import asyncio

    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack import app as ministack  # type: ignore[import-untyped]

    if "lenient" in sys.argv[2:]:
        from ministack.services import sqs  # type: ignore[import-untyped]

        _take_stale_receipts(sqs)

    async def app(scope, receive, send):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        if scope["type"] == "http":
            said = dict(scope["headers"]).get(b"x-test-now")
            _moment[:] = [float(said)] if said else []
        await ministack.app(scope, receive, send)

    config = Config()
    config.bind = [f"127.0.0.1:{port}"]
    config.keep_alive_timeout = 75
    config.accesslog = None
    asyncio.run(serve(app, config))


if __name__ == "__main__":
    main()
