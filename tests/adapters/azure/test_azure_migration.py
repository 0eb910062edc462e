"""What a version before the shared core kept in its tables is carried over: once, whole, and when it is finished."""

import asyncio
import json
import os
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from azure.data.tables import UpdateMode
from tests.adapters.azure.earlier_data import (
    LARGE,
    QUEUE,
    RECORDED,
    earlier_app,
    leave_behind,
    put_rows,
    rows_of,
    table_of,
)
from tests.servers.azure import shared_azure

from tenure import Tenure
from tenure.adapters import azure
from tenure.adapters.azure.migration import messages
from tenure.client.browse_all import browse_all
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import NotMigrated
from tenure.message import MessageState
from tenure.migration import Carried
from tenure.query import Query
from tenure.tally import HOUR

pytestmark = pytest.mark.real_time
PATIENCE = 60.0

#: What the recorded rows hold.
ALL = Carried(
    dead_letters=3, completed=3, cancelled=1, keys=1, documents=1, notices=2, schedules=1, acts=3, samples=3, tallies=2
)


class Ended(BaseException):
    """The process has ended; nobody can catch that."""


class House:
    """One account under a prefix of its own, with both of its tables."""

    def __init__(self, *options: str) -> None:
        """Nothing is in it."""
        self.server = shared_azure()
        self.prefix = f"t{os.urandom(6).hex()}"
        self.options = options
        self.ids: dict[str, str] = {}
        self.calls = 0

    def url(self, core: str) -> str:
        return self.server.url(self.prefix, f"core={core}", *self.options)

    def recorded(self) -> "House":
        """With what the earlier core left behind, as it was recorded."""
        kept = json.loads(RECORDED.read_text(encoding="utf-8"))
        self.ids = kept["ids"]
        put_rows(table_of(self.server, self.prefix), kept["rows"])
        return self

    def change(self, key: str, change: Callable[[dict[str, Any]], None]) -> None:
        """Change a row of the earlier table."""
        table = table_of(self.server, self.prefix)
        (row,) = table.query_entities(f"RowKey eq '{key}'")
        change(row)
        table.upsert_entity(row, mode=UpdateMode.REPLACE)

    def migrator(self, *, end_after: float = float("inf"), later: float = 0.0) -> Any:
        """One that ends when it wants to make one call more, and lives in a later time."""
        url, left = self.url("rowstore"), [end_after]
        now = SYSTEM_CLOCK.wall() + later

        def hook(request: Any) -> None:
            request.headers["x-test-now"] = repr(now)
            if left[0] <= 0:
                raise Ended
            left[0] -= 1
            self.calls += 1

        return azure.migrator(azure.read_options(url, urlsplit(url), {}), hook=hook)

    async def migrate(self, *, dry_run: bool = False) -> Any:
        return await self.migrator().migrate(dry_run=dry_run)

    async def everything(self) -> dict[str, Any]:
        """What the new core finds."""
        async with Tenure(self.url("rowstore")) as app:
            state, found = app.state, dict[str, Any]()
            for name, id in self.ids.items():
                record = await state.records.get(id)
                found[name] = None if record is None else msgspec.to_builtins(record) | {"deadline_in": None}
            dead = [one async for one in browse_all(app.broker, Query(states=(MessageState.DEAD,), bodies=True))]
            found["dead letters"] = sorted((one.id, one.queue, one.task, one.envelope) for one in dead)
            (depth,) = await app.broker.depth([QUEUE])
            found["depth"] = depth.dead
            notices = await state.board.read()
            found["board"] = msgspec.to_builtins((notices.paused, notices.posts))
            found["ticks"] = msgspec.to_builtins(await state.board.ticks())
            documents = await state.key_values.list("thing")
            found["documents"] = [(one.name, one.data, one.expires_at) for one in documents]
            found["acts"] = [(one.seq, one.act.by) for one in await state.acts.read()]
            samples = [await state.journal.samples(QUEUE, task) for task in ("resize", "refuse")]
            found["samples"] = [len(some) for some in samples]
            found["tallies"] = msgspec.to_builtins(await state.journal.tallies(HOUR, 1_749_999_600, 1_750_003_200))
            return found


@pytest.fixture
def house() -> House:
    """What was recorded."""
    return House().recorded()


def _is_whole(found: dict[str, Any], ids: dict[str, str]) -> None:
    assert found["done"]["state"] == "completed"
    assert found["keyed"]["counters"]["deliveries"] == 1
    assert found["odd"]["state"] == "completed"
    assert found["cancelled"]["state"] == "cancelled"
    assert found["dead"]["reason"]["code"] == "rejected"
    assert [ending["how"] for ending in found["twice"]["history"]] == ["dead", "redriven", "dead"]
    assert {one[0] for one in found["dead letters"]} == {ids["dead"], ids["twice"], ids["foreign"]}
    assert found["depth"] == 3
    assert {one[0]: one[3] for one in found["dead letters"]}[ids["foreign"]] == b"not ours"
    paused, posts = found["board"]
    assert [(one["queue"], one["by"]) for one in paused] == [("paused", "ada")]
    assert [(one["name"], one["data"]) for one in posts] == [(QUEUE, '{"running":3}')]
    assert [(one["schedule"], one["at"]) for one in found["ticks"]] == [("nightly", 1_750_000_000.0)]
    assert found["documents"] == [("a name / with marks", b"\x00kept", None)]
    assert found["acts"] == [(3, "user 2"), (2, "user 1"), (1, "user 0")]
    assert found["samples"][0] >= 3
    assert len(found["tallies"]) == 1


async def test_all_that_was_recorded_is_found_by_the_new_core(house: House) -> None:
    done = await house.migrate()
    assert (done.outcome, done.carried) == ("carried", ALL)
    _is_whole(await house.everything(), house.ids)


async def test_what_the_earlier_core_writes_today_is_found_by_the_new_core() -> None:
    house = House()
    app = earlier_app(house.url("azure"))
    house.ids = await leave_behind(app, house.server, house.prefix, large=True)
    assert (await house.migrate()).outcome == "carried"
    _is_whole(await house.everything(), house.ids)
    async with Tenure(house.url("rowstore")) as new:
        record = await new.state.records.get(house.ids["large"])
        assert record is not None
        assert len(record.result or b"") == LARGE + 2


async def test_what_is_done_is_not_done_again_and_a_dead_letter_can_be_redriven(house: House) -> None:
    await house.migrate()
    app = Tenure(house.url("rowstore"))
    ran: list[str] = []

    @app.task(queue=QUEUE)
    async def resize(image: str) -> str:
        ran.append(image)
        return "again"

    @app.task(queue=QUEUE)
    async def refuse(image: str) -> None:
        ran.append(image)

    async with app, app.worker(concurrency=4) as worker:
        again = await resize.bind("e").having(id=house.ids["odd"]).submit()
        assert again.duplicate
        assert await again.result(PATIENCE) == "small e"
        keyed = await resize.bind("b").having(key="invoice 7").submit()
        assert await keyed.result(PATIENCE) == "small b"
        assert await app.broker.redrive([house.ids["dead"]]) == [house.ids["dead"]]
        async with asyncio.timeout(PATIENCE):
            while not (ran and worker.counts.get("completed")):  # noqa: ASYNC110 - the worker tells nobody
                await asyncio.sleep(0.05)
    assert ran == ["c"]


async def test_nothing_starts_over_earlier_tables_that_nobody_carried(house: House) -> None:
    for _ in range(2):
        with pytest.raises(NotMigrated, match="tenure migrate store") as refused:
            async with Tenure(house.url("rowstore")):
                pass
        assert refused.value.code == "not_migrated"
    await house.migrate()
    async with Tenure(house.url("rowstore")):
        pass


async def test_where_no_earlier_version_was_at_work_it_starts_and_there_is_nothing_to_carry() -> None:
    house = House()
    async with Tenure(house.url("rowstore")):
        pass
    assert (await house.migrate()).outcome == "nothing"


@pytest.mark.parametrize(("state", "said"), [("ready", "1 waiting"), ("delayed", "1 delayed"), ("leased", "1 leased")])
async def test_a_message_that_is_not_finished_stops_it(house: House, state: str, said: str) -> None:
    def revive(row: dict[str, Any]) -> None:
        life = json.loads(row["Life"])
        row["Life"] = json.dumps(life | {"state": state}).encode()
        row["State"] = state

    house.change(f"m:{house.ids['dead']}", revive)
    for act in (house.migrate, house.everything):
        with pytest.raises(NotMigrated, match=said):
            await act()
    counted = await house.migrate(dry_run=True)
    assert counted.outcome == "unfinished"
    assert not counted.unfinished.is_empty


async def test_a_message_that_was_never_lent_stops_it(house: House) -> None:
    house.change(f"s:{house.ids['done']}", lambda row: row.update(IsEnded=False))
    with pytest.raises(NotMigrated, match="1 waiting"):
        await house.migrate()


async def test_a_worker_that_still_runs_stops_it() -> None:
    house = House()
    app = earlier_app(house.url("azure"))
    async with app, app.worker(name="old"):
        await app.operate.pause("q", must_exist=False)
        with pytest.raises(NotMigrated, match="the running workers old/"):
            await house.migrate()
    assert (await house.migrate()).outcome == "carried"


async def test_a_dry_run_counts_and_makes_nothing(house: House) -> None:
    before = rows_of(table_of(house.server, house.prefix))
    counted = await house.migrate(dry_run=True)
    assert (counted.outcome, counted.carried) == ("would_carry", ALL)
    assert counted.left_behind
    assert rows_of(_new_table(house)) == []
    await house.migrate()
    assert rows_of(table_of(house.server, house.prefix)) == before


async def test_ended_anywhere_and_repeated_it_loses_and_doubles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "BATCH", 2)
    plain = House().recorded()
    assert (await plain.migrate()).carried == ALL
    wanted, calls = await plain.everything(), plain.calls
    for end_after in range(2, calls, max(1, calls // 10)):
        house = House().recorded()
        with pytest.raises(Ended):
            await house.migrator(end_after=end_after).migrate(dry_run=False)
        # Later: whoever ended had said that it was at work for a while.
        done = await house.migrator(later=60.0).migrate(dry_run=False)
        assert done.outcome in ("carried", "already_carried"), end_after
        assert await house.everything() == wanted, end_after


async def test_a_second_run_brings_nothing_back(house: House) -> None:
    await house.migrate()
    async with Tenure(house.url("rowstore")) as app:
        assert await app.broker.delete([house.ids["dead"]]) == [house.ids["dead"]]
    again = await house.migrate()
    assert (again.outcome, again.carried) == ("already_carried", ALL)
    assert (await house.everything())["dead"]["state"] == "cancelled"


async def test_two_at_once_do_it_once(house: House) -> None:
    first, second = await asyncio.gather(house.migrate(), house.migrate())
    assert {first.outcome, second.outcome} == {"carried", "already_carried"}
    _is_whole(await house.everything(), house.ids)


def _new_table(house: House) -> Any:
    return table_of(house.server, house.prefix, "tenurerows")
