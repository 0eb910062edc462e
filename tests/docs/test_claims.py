"""Tables of the how-to pages that no block shows: each row is tried."""

import asyncio
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from tenure import KeyConflict, MessageState, Tenure
from tenure.tasks.schedule import schedule_from

from .markdown import ROOT

KEY_PAGE = (ROOT / "docs" / "how-to" / "choose-key-or-unique.md").read_text(encoding="utf-8")
SCHEDULE_PAGE = (ROOT / "docs" / "how-to" / "schedule-work.md").read_text(encoding="utf-8")
BERLIN = ZoneInfo("Europe/Berlin")


def _cells(page: str, first: str) -> list[str]:
    (row,) = (line for line in page.splitlines() if line.startswith(f"| {first}"))
    return [cell.strip() for cell in row.strip("| ").split(" | ")][1:]


# --- key= or unique= ---------------------------------------------------------------------------------------


@pytest.fixture
def gate() -> asyncio.Event:
    """Before which a long work stands until it is told to go on."""
    return asyncio.Event()


@pytest.fixture
def app(tmp_path: Path, gate: asyncio.Event) -> Tenure:
    app = Tenure(f"sqlite:///{tmp_path}/claims.db")

    @app.task(max_attempts=1)
    async def work(name: str, fail: bool = False) -> None:
        if fail:
            msg = "as asked"
            raise ValueError(msg)
        if name == "long":
            await gate.wait()

    return app


def _says_the_first(cell: str) -> bool:
    assert cell.startswith(("the first counts", "a new message")), cell
    return cell.startswith("the first counts")


async def _until(handle: Any, state: MessageState) -> None:
    while (await handle.status()).state is not state:  # noqa: ASYNC110 - a worker of our own, in a moment
        await asyncio.sleep(0.01)


@pytest.mark.real_time
@pytest.mark.parametrize("option", ["key", "unique"])
@pytest.mark.parametrize("state", ["waiting", "running", "completed", "dead or cancelled"])
async def test_a_second_submit_finds_what_the_table_says(
    app: Tenure, gate: asyncio.Event, option: Any, state: str
) -> None:
    options: Any = {option: "word"}
    if state == "completed":
        gate.set()
    call = app.tasks["work"].bind("long", fail=state == "dead or cancelled")
    async with app:
        first = await app.submit(call, **options)
        if state != "waiting":
            async with app.worker():
                wanted = {"running": MessageState.LEASED, "completed": MessageState.COMPLETED}
                await _until(first, wanted.get(state, MessageState.DEAD))
                again = await app.submit(call, **options)
                gate.set()
        else:
            again = await app.submit(call, **options)
    cell = _cells(KEY_PAGE, f"… {state}")[option == "unique"]
    assert again.duplicate is (again.id == first.id) is _says_the_first(cell)


async def test_a_cancelled_message_stands_for_nobody(app: Tenure) -> None:
    each: list[Any] = [{"key": "word"}, {"unique": "word"}]
    for options in each:
        first = await app.submit(app.tasks["work"].bind("a"), **options)
        assert await first.cancel()
        assert (await app.submit(app.tasks["work"].bind("a"), **options)).id != first.id
    await app.close()


async def test_another_payload_is_refused_by_a_key_and_not_by_unique(app: Tenure) -> None:
    work = app.tasks["work"]
    key, unique = _cells(KEY_PAGE, "a second submit with another payload")
    assert "`key_conflict`" in key
    await app.submit(work.bind("a"), key="word")
    with pytest.raises(KeyConflict):
        await app.submit(work.bind("b"), key="word")
    first = await app.submit(work.bind("a"), unique="word")
    assert _says_the_first(unique)
    assert (await app.submit(work.bind("b"), unique="word")).id == first.id
    await app.close()


# --- clocks that are changed -------------------------------------------------------------------------------


def _ticks(app: Tenure, line: str, day: str) -> list[str]:
    """The ticks of that day in Berlin, as clocks show them."""
    moments = schedule_from("one", app.tasks["work"].bind("a"), cron=line, timezone="Europe/Berlin").moments
    at = datetime.fromisoformat(day).replace(tzinfo=BERLIN).timestamp() - 1
    found: list[str] = []
    while (at := moments.next_after(at)) and (shown := datetime.fromtimestamp(at, BERLIN)).date().isoformat() == day:
        found.append(f"{shown:%H:%M}")
    return found


def test_what_the_page_says_of_changed_clocks(app: Tenure) -> None:
    spring, autumn = "2030-03-31", "2030-10-27"
    left_out, twice = _cells(SCHEDULE_PAGE, "names times of day: `30 2 * * *`")
    assert (left_out, _ticks(app, "30 2 * * *", spring)) == ("runs right after it", ["03:00"])
    assert (twice, len(_ticks(app, "30 2 * * *", autumn))) == ("runs the first time only", 1)
    left_out, twice = _cells(SCHEDULE_PAGE, "has `*` in minute or hour")
    assert left_out == "does not tick"
    assert "02:30" not in _ticks(app, "*/15 * * * *", spring)
    assert len(_ticks(app, "*/15 * * * *", spring)) == 23 * 4
    assert (twice, _ticks(app, "0 * * * *", autumn).count("02:00")) == ("ticks in both", 2)


def test_the_nicknames_of_the_page_are_known(app: Tenure) -> None:
    names = re.findall(r"`(@\w+)`", SCHEDULE_PAGE)
    assert len(names) > 5
    assert all(_ticks(app, name, "2030-01-01") for name in names if name != "@weekly")
    assert _ticks(app, "@weekly", "2030-01-06") == ["00:00"]
