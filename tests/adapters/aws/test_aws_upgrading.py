"""What the version before the shared core wrote on SQS goes on as it is: nothing is lost, nothing runs twice."""

import asyncio
import json
import os
from collections import Counter
from typing import Any

import pytest
from tests.adapters.aws.earlier_data import PATIENCE, QUEUE, RECORDED, clients, rows_of, url_of

from tenure import Tenure
from tenure.client.browse_all import browse_all
from tenure.clock import SYSTEM_CLOCK
from tenure.message import MessageState
from tenure.query import Query

pytestmark = pytest.mark.real_time
_DAY = 86_400


class House:
    """A table and a queue as the earlier version left them."""

    def __init__(self) -> None:
        """Put everything there."""
        kept = json.loads(RECORDED.read_text(encoding="utf-8"))
        self.ids: dict[str, str] = kept["ids"]
        self.name = f"t{os.urandom(5).hex()}"
        self.ran: Counter[str] = Counter()
        self._put_rows(kept["rows"], self._put_copies(kept["copies"], kept["rows"]))

    def _put_copies(self, copies: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
        """The copies, one of them received by a worker that is gone: its receipt."""
        sqs, _ = clients()
        url = sqs.create_queue(QueueName=f"{self.name}-{QUEUE}")["QueueUrl"]
        leased = next(copy for copy in copies if _id_of(copy) == self.ids["leased"])
        sqs.send_message(QueueUrl=url, MessageBody=leased["body"], MessageAttributes=leased["attributes"])
        (received,) = sqs.receive_message(QueueUrl=url, VisibilityTimeout=600, WaitTimeSeconds=5)["Messages"]
        (row,) = (row for row in rows if row["part"]["S"] == f"m#{self.ids['delayed']}")
        told = {"tenure-id": {"DataType": "String", "StringValue": self.ids["delayed"]}}
        delayed = {"body": json.loads(row["d"]["S"])["body"], "attributes": told}
        for copy in [*(copy for copy in copies if copy is not leased), delayed]:
            sqs.send_message(QueueUrl=url, MessageBody=copy["body"], MessageAttributes=copy["attributes"])
        return str(received["ReceiptHandle"])

    def _put_rows(self, rows: list[dict[str, Any]], receipt: str) -> None:
        _, dynamo = clients()
        keys = [{"AttributeName": "part", "KeyType": "HASH"}, {"AttributeName": "sort", "KeyType": "RANGE"}]
        kinds = [{"AttributeName": name, "AttributeType": "S"} for name in ("part", "sort")]
        dynamo.create_table(
            TableName=self.name, KeySchema=keys, AttributeDefinitions=kinds, BillingMode="PAY_PER_REQUEST"
        )
        for row in rows:
            if "forget" in row:  # what was recorded long ago is as young as it was then
                row["forget"] = {"N": str(int(SYSTEM_CLOCK.wall()) + 14 * _DAY)}
            text = json.loads(row["d"]["S"]) if row["sort"]["S"] == "m" else {}
            if text.get("state") == "delayed":  # it became due since
                row["d"]["S"] = json.dumps(text | {"due": text["due"] - 1000.0})
            if row["part"]["S"] == f"m#{self.ids['leased']}":
                row["d"]["S"] = json.dumps(text | {"receipt": receipt})
            dynamo.put_item(TableName=self.name, Item=row)

    def rows(self) -> dict[str, Any]:
        """The row of each message, by its part."""
        return {row["part"]["S"]: row["d"]["S"] for row in rows_of(self.name) if row["sort"]["S"] == "m"}

    def app(self) -> Tenure:
        app = Tenure(url_of(self.name))

        @app.task(queue=QUEUE)
        async def resize(image: str) -> str:
            self.ran[image] += 1
            return f"small {image}"

        @app.task(queue=QUEUE)
        async def refuse(image: str) -> None:
            self.ran[image] += 1

        return app


def _id_of(copy: dict[str, Any]) -> str:
    return str(copy["attributes"]["tenure-id"]["StringValue"])


@pytest.fixture
def house() -> House:
    """As it was recorded."""
    return House()


async def test_what_waits_was_leased_or_is_due_runs_once_and_what_is_done_stays_done(house: House) -> None:
    app = house.app()
    resize = app.tasks["resize"]
    async with app, app.worker(concurrency=4):
        again = await resize.bind("a").having(id=house.ids["done"]).submit()
        assert again.duplicate
        assert await again.result(PATIENCE) == "small a"
        keyed = await resize.bind("b").having(key="invoice 7").submit()
        assert await keyed.result(PATIENCE) == "small b"
        assert await app.broker.redrive([house.ids["dead"]]) == [house.ids["dead"]]
        end = SYSTEM_CLOCK.monotonic() + PATIENCE
        while set(house.ran) != set("cdefg") and SYSTEM_CLOCK.monotonic() < end:  # noqa: ASYNC110 - handlers count
            await asyncio.sleep(0.05)
    assert house.ran == Counter("cdefg"), house.rows()[f"m#{house.ids['leased']}"]


async def test_what_lies_beside_the_messages_is_found_and_reading_changes_no_row(house: House) -> None:
    before = house.rows()
    app = house.app()
    async with app:
        (dead,) = [one async for one in browse_all(app.broker, Query(states=(MessageState.DEAD,), bodies=True))]
        assert (dead.id, dead.reason and dead.reason.code) == (house.ids["dead"], "rejected")
        assert dead.envelope
        states = {name: await app.state.records.get(id) for name, id in house.ids.items()}
        assert {name: record and record.state.value for name, record in states.items()} == {
            "done": "completed", "keyed": "completed", "dead": "dead", "leased": "leased", "waiting": "ready",
            "waiting too": "ready", "delayed": "delayed",
        }  # fmt: skip
        notices = await app.state.board.read()
        assert [(pause.queue, pause.by) for pause in notices.paused] == [("paused", "ada")]
        assert [(tick.schedule, tick.at) for tick in await app.state.board.ticks()] == [("nightly", 1_750_000_000.0)]
        assert [(one.name, one.data) for one in await app.state.key_values.list("thing")] == [("a name", b"\x00kept")]
        assert [(one.seq, one.act.by) for one in await app.state.acts.read()] == [(1, "ada")]
        assert len(await app.state.journal.samples(QUEUE, "resize")) == 2
    assert house.rows() == before
