"""What an installation of a version before the shared core leaves behind: written by that core, as an app does it.

Run as a module it records the rows of its table, from which `test_azure_migration.py` goes on when that core is gone:

    python -m tests.adapters.azure.earlier_data
"""

import asyncio
import base64
import json
import os
from pathlib import Path
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.data.tables import TableClient
from azure.storage.queue import QueueClient
from tests.servers.azure import ACCOUNT, KEY, AzureServer, shared_azure

from tenure import Reject, Tenure
from tenure.act import Act
from tenure.client.browse_all import browse_all
from tenure.message import MessageState
from tenure.notice import Pause, Post, PostKind, Tick
from tenure.query import Query
from tenure.tally import HOUR, Tally

RECORDED = Path(__file__).with_name("earlier_rows.json")
QUEUE = "images"
PATIENCE = 60.0
#: Bytes of a result that does not fit into a row.
LARGE = 200_000


def earlier_app(url: str) -> Tenure:
    """An app on the earlier core; its handlers complete, refuse, or answer with much."""
    app = Tenure(url)

    @app.task(queue=QUEUE)
    async def resize(image: str) -> str:
        return f"small {image}"

    @app.task(queue=QUEUE)
    async def refuse(image: str) -> None:
        raise Reject(f"{image} is no image")

    @app.task(queue=QUEUE)
    async def enlarge(size: int) -> str:
        return "x" * size

    return app


async def leave_behind(app: Tenure, server: AzureServer, prefix: str, *, large: bool) -> dict[str, str]:
    """Everything that a migration carries; ids by what they are."""
    resize, refuse, enlarge = (app.tasks[name] for name in ("resize", "refuse", "enlarge"))
    ids: dict[str, str] = {}
    async with app:
        for name, call in {
            "done": resize.bind("a"), "keyed": resize.bind("b").having(key="invoice 7"), "dead": refuse.bind("c"),
            "twice": refuse.bind("d"), "odd": resize.bind("e").having(id="ordered by /ä"),
        }.items():  # fmt: skip
            ids[name] = (await call.submit()).id
        if large:
            ids["large"] = (await enlarge.bind(LARGE).submit()).id
        _send_foreign(server, prefix)
        async with app.worker(concurrency=4, name="earlier") as worker:
            await _until(lambda: worker.counts.get("completed", 0) >= (4 if large else 3))
            await _until(lambda: worker.counts.get("dead", 0) >= 3)
            await app.broker.redrive([ids["twice"]])
            await _until(lambda: worker.counts.get("dead", 0) >= 4)
        dead = [one.id async for one in browse_all(app.broker, Query(states=(MessageState.DEAD,)))]
        (ids["foreign"],) = set(dead) - set(ids.values())
        ids["cancelled"] = (await resize.bind("f").submit(delay=3600)).id
        assert await app.broker.delete([ids["cancelled"]]) == [ids["cancelled"]]
        state = app.state
        await state.board.pause(Pause("paused", 1_750_000_000.0, "ada"))
        await state.board.post(
            Post(kind=PostKind.LIMIT, name=QUEUE, at=1_750_000_000.0, by="ada", data='{"running":3}')
        )
        await state.board.tick(Tick(schedule="nightly", at=1_750_000_000.0))
        await state.key_values.put("thing", "a name / with marks", b"\x00kept", expect=None)
        await state.acts.record([Act(kind="paused", at=1_750_000_000.0, by=f"user {n}") for n in range(3)])
        await state.journal.tally([Tally(HOUR, 1_749_999_600, "n", 1, b"\x01\x02")])
    return ids


def _send_foreign(server: AzureServer, prefix: str) -> None:
    client = QueueClient(server.endpoint("queue"), f"{prefix}-{QUEUE}", credential=KEY)
    client.send_message("not ours", time_to_live=-1)


async def _until(holds: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - the worker counts, and tells nobody
            await asyncio.sleep(0.05)


def table_of(server: AzureServer, prefix: str, name: str = "tenure") -> TableClient:
    """The table of the earlier core."""
    from azure.core.credentials import AzureNamedKeyCredential

    return TableClient(server.endpoint("table"), f"{prefix}{name}", credential=AzureNamedKeyCredential(ACCOUNT, KEY))


def rows_of(table: TableClient) -> list[dict[str, Any]]:
    """Every row, with bytes as base64 under a name that says so."""
    try:
        return [dict(_told(name, value) for name, value in entity.items()) for entity in table.list_entities()]
    except ResourceNotFoundError:
        return []


def _told(name: str, value: Any) -> tuple[str, Any]:
    return (f"!{name}", base64.b64encode(value).decode()) if isinstance(value, bytes) else (name, value)


def put_rows(table: TableClient, rows: list[dict[str, Any]]) -> None:
    """Write recorded rows; a part of the table at once."""
    table.create_table()
    by_part: dict[str, list[Any]] = {}
    for row in rows:
        entity = {
            name.removeprefix("!"): base64.b64decode(value) if name.startswith("!") else value
            for name, value in row.items()
        }
        by_part.setdefault(row["PartitionKey"], []).append(("create", entity))
    for some in by_part.values():
        table.submit_transaction(some)


async def _record() -> None:
    server, prefix = shared_azure(), f"t{os.urandom(6).hex()}"
    ids = await leave_behind(earlier_app(server.url(prefix, "core=azure")), server, prefix, large=False)
    # What a machine or a worker is called is nobody's business, and no event is carried.
    rows = [row for row in rows_of(table_of(server, prefix)) if not row["PartitionKey"].startswith("j")]
    RECORDED.write_text(json.dumps({"ids": ids, "rows": rows}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    asyncio.run(_record())
