"""What an installation on SQS has in its table and its queues; recorded from the version before the shared core.

Run as a module on another version's code it records: what is in the table, and what lies in the queues.

    PYTHONPATH=/path/to/that/version/src:. python -m tests.adapters.aws.earlier_data
"""

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import boto3  # type: ignore[import-untyped]
from tests.servers.aws import shared_aws

from tenure import Reject, Tenure
from tenure.act import Act
from tenure.lease import LeaseRequest
from tenure.notice import Pause, Tick

os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
os.environ.setdefault("AWS_EC2_METADATA_DISABLED", "true")

RECORDED = Path(__file__).with_name("earlier_rows.json")
QUEUE = "images"
PATIENCE = 60.0
_PASSING = ("j", "banned#", "y#", "turn", "sweep")


def url_of(name: str) -> str:
    """A table and queues of that name."""
    end = shared_aws("ministack").url
    return f"sqs://eu-west-1?endpoint={end}&state_endpoint={end}&table={name}&prefix={name}-&create=yes"


def clients() -> tuple[Any, Any]:
    """SQS and DynamoDB as others see them."""
    end = shared_aws("ministack").url
    return tuple(boto3.client(kind, region_name="eu-west-1", endpoint_url=end) for kind in ("sqs", "dynamodb"))


async def leave_behind(app: Tenure) -> dict[str, str]:
    """Messages in every state, and what lies beside them; ids by what they are."""

    @app.task(queue=QUEUE)
    async def resize(image: str) -> str:
        return f"small {image}"

    @app.task(queue=QUEUE)
    async def refuse(image: str) -> None:
        raise Reject(f"{image} is no image")

    calls = {
        "done": resize.bind("a"), "keyed": resize.bind("b").having(key="invoice 7"), "dead": refuse.bind("c"),
    }  # fmt: skip
    ids: dict[str, str] = {}
    async with app:
        for name, call in calls.items():
            ids[name] = (await call.submit()).id
        async with app.worker(concurrency=4, name="earlier") as worker, asyncio.timeout(PATIENCE):
            while worker.counts.get("completed", 0) < 2 or not worker.counts.get("dead"):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
        ids["leased"] = (await resize.bind("d").submit()).id
        (lease,) = await app.broker.lease(LeaseRequest("gone/00000000", "r1", (QUEUE,), 1, 3.0))
        assert lease.id == ids["leased"]
        ids["waiting"] = (await resize.bind("e").submit()).id
        ids["waiting too"] = (await resize.bind("f").having(key="invoice 8").submit()).id
        ids["delayed"] = (await resize.bind("g").submit(delay=900)).id
        await app.state.board.pause(Pause("paused", 1_750_000_000.0, "ada"))
        await app.state.board.tick(Tick(schedule="nightly", at=1_750_000_000.0))
        await app.state.key_values.put("thing", "a name", b"\x00kept", expect=None)
        await app.state.acts.record([Act(kind="paused", at=1_750_000_000.0, by="ada")])
    return ids


def rows_of(name: str) -> list[dict[str, Any]]:
    """Every row of a table."""
    dynamo = clients()[1]
    rows: list[dict[str, Any]] = []
    more: dict[str, Any] = {}
    while True:
        page = dynamo.scan(TableName=name, **more)
        rows += page["Items"]
        if "LastEvaluatedKey" not in page:
            return rows
        more = {"ExclusiveStartKey": page["LastEvaluatedKey"]}


async def _record() -> None:
    name = f"t{os.urandom(5).hex()}"
    ids = await leave_behind(Tenure(url_of(name)))
    sqs, _ = clients()
    url = sqs.get_queue_url(QueueName=f"{name}-{QUEUE}")["QueueUrl"]
    copies: list[dict[str, Any]] = []
    while len(copies) < 3:  # two wait, and one is shown when its lease is over; the last one is delayed
        asked = {"MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"], "WaitTimeSeconds": 1}
        found = sqs.receive_message(QueueUrl=url, VisibilityTimeout=600, **asked).get("Messages", [])
        copies += [{"body": one["Body"], "attributes": one.get("MessageAttributes", {})} for one in found]
    # Not what a machine is called, and who came and went.
    rows = [row for row in rows_of(name) if not row["part"]["S"].startswith(_PASSING)]
    RECORDED.write_text(json.dumps({"ids": ids, "rows": rows, "copies": copies}, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    asyncio.run(_record())
