"""A page of messages: as many as were asked for, and how far it looked."""

import pytest

from tenure.app import Tenure
from tenure.client.operations import message_list
from tenure.client.operations.message_list import listing
from tenure.message import MessageState
from tenure.query import Page, Query
from tenure.rules import paging


async def _send_hay_and_a_needle(app: Tenure) -> None:
    @app.task
    async def note(text: str) -> None: ...

    for number in range(30):
        await note.submit("needle" if number == 29 else "hay")


async def test_a_rare_match_is_looked_for_until_somebody_should_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_list, "MOST_ROWS", 20)
    async with Tenure("memory://") as app:
        await _send_hay_and_a_needle(app)
        query = Query(states=(MessageState.READY,), text="needle", look_at=5, limit=3)
        found = await listing(app.operate.access, query)
        assert (found.messages, found.is_more, found.looked_at) == ([], True, 20)
        assert found.cursor is not None
        again = Query(states=(MessageState.READY,), text="needle", look_at=5, limit=3, cursor=found.cursor)
        found = await listing(app.operate.access, again)
        assert (len(found.messages), found.is_more, found.looked_at) == (1, False, 10)


async def test_a_search_stops_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reads one step at least, says how far it looked, and its cursor goes on."""
    monkeypatch.setattr(paging, "_ROWS_AT_ONCE", 5)
    async with Tenure("memory://") as app:
        await _send_hay_and_a_needle(app)
        query, looks = Query(states=(MessageState.READY,), text="needle", limit=3), []
        found = await listing(app.operate.access, query, most_seconds=0.0)
        while found.is_more:
            looks.append((found.looked_at, len(found.messages)))
            again = Query(states=query.states, text="needle", limit=3, cursor=found.cursor or "")
            found = await listing(app.operate.access, again, most_seconds=0.0)
        assert looks == [(5, 0)] * 5
        assert (found.looked_at, len(found.messages), found.is_more) == (5, 1, False)
        found = await listing(app.operate.access, query, most_seconds=60.0)
        assert (len(found.messages), found.is_more, found.looked_at) == (1, False, 30)


async def test_a_full_page_that_knows_of_another_match_is_read_by_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Tenure("memory://") as app:

        @app.task
        async def note(number: int) -> None: ...

        for number in range(5):
            await note.submit(number)
        access, asked = app.operate.access, list[Query]()
        browse = access.broker.browse

        async def counted(query: Query) -> Page:
            asked.append(query)
            return await browse(query)

        monkeypatch.setattr(access.broker, "browse", counted)
        for limit, is_more in ((2, True), (5, False)):
            asked.clear()
            found = await listing(access, Query(states=(MessageState.READY,), limit=limit))
            assert (len(found.messages), found.is_more, len(asked)) == (limit, is_more, 1)
