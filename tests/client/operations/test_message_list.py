"""A page of messages: as many as were asked for, and how far it looked."""

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
