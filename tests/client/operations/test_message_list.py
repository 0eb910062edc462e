"""A page of messages: as many as were asked for, and how far it looked."""

import msgspec
import pytest

from tenure.app import Tenure
from tenure.client.operations import message_list
from tenure.client.operations.message_list import listing
from tenure.message import MessageState
from tenure.query import Query


async def test_a_rare_match_is_looked_for_until_somebody_should_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_list, "MOST_ROWS", 20)
    async with Tenure("memory://") as app:

        @app.task
        async def note(text: str) -> None: ...

        for number in range(30):
            await note.submit("needle" if number == 29 else "hay")
        query = Query(states=(MessageState.READY,), text="needle", look_at=5, limit=3)
        found = await listing(app.operate.access, query)
        assert (found.messages, found.is_more, found.looked_at) == ([], True, 20)
        assert found.cursor is not None
        again = Query(states=(MessageState.READY,), text="needle", look_at=5, limit=3, cursor=found.cursor)
        found = await listing(app.operate.access, again)
        assert (len(found.messages), found.is_more, found.looked_at) == (1, False, 10)


async def test_a_look_that_is_bounded_in_time_says_where_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_list, "_ROWS_IN_A_STEP", 5)
    async with Tenure("memory://") as app:

        @app.task
        async def note(text: str) -> None: ...

        for number in range(30):
            await note.submit("needle" if number == 29 else "hay")
        query, pages = Query(states=(MessageState.READY,), text="needle", limit=3), 0
        found = await listing(app.operate.access, query, most_seconds=0.0)
        while not found.messages:
            assert (found.is_more, found.looked_at) == (True, 5), "one step at least, so that each call gets further"
            assert found.cursor is not None
            query, pages = msgspec.structs.replace(query, cursor=found.cursor), pages + 1
            found = await listing(app.operate.access, query, most_seconds=0.0)
        assert (len(found.messages), pages) == (1, 5)
        patient = await listing(app.operate.access, msgspec.structs.replace(query, cursor=""), most_seconds=60.0)
        assert (len(patient.messages), patient.is_more, patient.looked_at) == (1, False, 30)
