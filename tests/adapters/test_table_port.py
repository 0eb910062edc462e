"""Every table passes the suite `Tables`, whichever store keeps it.

A row store relies on this alone. So its state need not be tried with every suite in every place (`state=redis://…`,
`state=local`): above the port it is the same code. `test_tables.py` has what only tables with groups can do.
"""

import os
from contextlib import AsyncExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.servers import KINDS
from tests.servers.aws import shared_aws
from tests.servers.shared import shared

from tenure.adapters import aws, redis
from tenure.adapters.aws.session import Session
from tenure.adapters.redis.table import RedisTable
from tenure.adapters.sqlite.table import LocalTable
from tenure.clock import SYSTEM_CLOCK
from tenure.rowstore.memory_table import MemoryTable
from tenure.table import Table
from tenure.testing.conformance import pytest_classes
from tenure.testing.conformance.tables import Tables
from tenure.testing.row_harness import TableHarness

pytestmark = pytest.mark.real_time


class RealTables(TableHarness):
    """An empty table of each kind, opened by the test's own loop."""

    def __init__(self, kind: str, folder: Path) -> None:
        super().__init__()
        self.clock = SYSTEM_CLOCK
        self._kind = kind
        self._folder = folder
        self._stack = AsyncExitStack()

    async def connect(self) -> Table:
        table = await _dynamo(self._stack) if self._kind == "dynamodb" else _table(self._kind, self._folder)
        await table.open()
        return table

    async def clean_up(self) -> None:
        await self._stack.aclose()


@pytest.fixture(
    params=["memory", "local", *KINDS, pytest.param("dynamodb", marks=[pytest.mark.cloud, pytest.mark.timeout(400)])]
)
def harness(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealTables:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    return RealTables(request.param, tmp_path)


async def _dynamo(stack: AsyncExitStack) -> Table:
    end, name = shared_aws("ministack").url, f"t{os.urandom(6).hex()}"
    link = Session(
        aws.Options(region="eu-west-1", endpoint=end, state_endpoint=end, prefix=name, table=name, create=True),
        SYSTEM_CLOCK,
    )
    await link.open()
    stack.push_async_callback(link.close)
    return aws.DynamoTable(link)


def _table(kind: str, folder: Path) -> Table:
    match kind:
        case "memory":
            return MemoryTable(SYSTEM_CLOCK)
        case "local":
            return LocalTable(str(folder / "state.db"), SYSTEM_CLOCK)
        case "valkey9" | "redis62" | "redis70":
            url = f"{shared(kind).url}?prefix=t{os.urandom(6).hex()}"
            return RedisTable(redis.read_options(url, urlsplit(url)), SYSTEM_CLOCK)
    raise ValueError(kind)


globals().update(pytest_classes([Tables]))
