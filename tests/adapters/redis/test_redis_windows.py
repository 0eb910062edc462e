"""How long finished messages are remembered (`keep_seconds`), where not everybody names the same window.

A worker's URL says it, and somebody at a terminal leaves it out; or it is changed, and the old workers go one by one.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations
from typing import Any

import pytest
from tests.adapters.redis.acting import message, opened, request
from tests.adapters.redis.showing import shown_in
from tests.servers.shared import shared

from tenure.broker import SweepRequest
from tenure.message import MessageState, Outgoing, new_id
from tenure.settlement import Ack

pytestmark = pytest.mark.real_time

_HOUR, _DAY, _WEEK = 3600, 86_400, 7 * 86_400


@asynccontextmanager
async def _both(first: int, second: int) -> AsyncIterator[tuple[Any, Any, Any]]:
    url = f"{shared('valkey9').url}?prefix=w{new_id(0.0)}&keep_seconds="
    async with opened(f"{url}{first}") as (one, state), opened(f"{url}{second}") as (two, _):
        yield one, two, state


async def _done(broker: Any) -> Outgoing:
    sent = Outgoing(message())
    await broker.send([sent])
    (lease,) = await broker.lease(request())
    await broker.ack([Ack(lease, b"1")])
    return sent


@pytest.mark.parametrize(("first", "second"), [*permutations((_HOUR, _DAY, _WEEK), 2)])
async def test_what_one_finished_another_knows_and_no_sweep_makes_anybody_forget_it(first: int, second: int) -> None:
    async with _both(first, second) as (one, two, state):
        done = [await _done(one), await _done(two), await _done(one)]
        for broker in (two, one, two):
            await broker.sweep(SweepRequest())
            for asked in (one, two):
                assert [sent.duplicate for sent in await asked.send(done)] == [True] * 3
        for sent in done:
            assert (await state.records.get(sent.message.id)).result == b"1"
        browsed = await shown_in(one, done[0].message.queue, MessageState.COMPLETED)
        assert [found.id for found in browsed] == [sent.message.id for sent in done]
