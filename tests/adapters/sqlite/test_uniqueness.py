"""Uniqueness: an index of those that wait, and of nothing else."""

import asyncio
from pathlib import Path

import pytest

from tenure.adapters.sqlite import uniqueness
from tenure.clock import SYSTEM_CLOCK
from tenure.message import MessageState, Outgoing
from tenure.settlement import Ack, DeadLetter, GiveBack, Nack
from tenure.verdict import Reason

from .place import Place, ended, line_of, message, say, start

BOOM = Reason("error", "it broke")


async def waits_for(place: Place, word: str) -> str | None:
    """Who stands for a message with that word. Asks without leaving anything behind."""
    (sent,) = await place.send(f"probe-{word}", unique=word)
    if sent.duplicate:
        return sent.id
    await place.broker.delete([sent.id])
    place.sql("DELETE FROM message WHERE id = ?", sent.id)
    return None


async def test_the_look_is_one_step_into_the_index(place: Place) -> None:
    plan = [row[3] for row in place.sql(f"EXPLAIN QUERY PLAN {uniqueness._oldest(2)}", *range(12))]
    assert any(
        "USING INDEX message_unique (queue=? AND task=? AND uniqueness=? AND sent_at>?)" in step for step in plan
    )
    assert not any("SCAN message" in step for step in plan)


async def test_it_is_found_exactly_while_it_waits(place: Place) -> None:
    await place.send("a", unique="u")
    assert await waits_for(place, "u") == "a"
    (lease,) = await place.lease()
    assert await waits_for(place, "u") is None
    await place.broker.give_back([GiveBack(lease)])
    assert await waits_for(place, "u") == "a"
    (lease,) = await place.lease()
    await place.broker.nack([Nack(lease, 60.0, BOOM)])
    assert await waits_for(place, "u") == "a"
    await asyncio.sleep(61.0)
    (lease,) = await place.lease()
    await place.broker.dead_letter([DeadLetter(lease, BOOM)])
    assert await waits_for(place, "u") is None
    await place.broker.redrive(["a"])
    assert await waits_for(place, "u") == "a"
    (lease,) = await place.lease()
    await place.broker.ack([Ack(lease)])
    assert await waits_for(place, "u") is None


async def test_only_what_waits_is_in_the_index(place: Place) -> None:
    in_index = "SELECT id FROM message INDEXED BY message_unique WHERE uniqueness IS NOT NULL AND state IN (0, 2)"
    await place.send("plain", key="k")
    await place.send("now", unique="now")
    await place.send("later", unique="later", delay=60.0)
    assert sorted(place.sql(in_index)) == [("later",), ("now",)]
    await place.lease(9)
    await place.broker.cancel(["later"])
    assert place.sql(in_index) == []


async def test_a_window_looks_at_few_of_many_that_wait(place: Place) -> None:
    wall = place.clock.wall()
    for n in range(300):
        (sent,) = await place.broker.send([Outgoing(message(f"m{n}", unique="u", sent_at=wall + n), 0.0, 0.5)])
        assert not sent.duplicate
    again = Outgoing(message("again", unique="u", sent_at=wall + 300), 0.0, 2.5)
    assert (await place.broker.send([again]))[0].id == "m298"
    assert (await place.broker.send([Outgoing(message("any", unique="u", sent_at=wall + 300))]))[0].id == "m0"


async def test_two_windows_in_one_batch_are_each_their_own(place: Place) -> None:
    wall = place.clock.wall()
    await place.broker.send([Outgoing(message("old", unique="u", sent_at=wall - 100))])
    batch = [
        Outgoing(message("a", unique="u", sent_at=wall), 0.0, 10.0),
        Outgoing(message("b", unique="u", sent_at=wall + 1), 0.0, 10.0),
        Outgoing(message("c", unique="u", sent_at=wall + 1)),
        Outgoing(message("d", unique="u", sent_at=wall + 50), 0.0, 49.0),
        Outgoing(message("e", unique="u", sent_at=wall + 50), 0.0, 50.0),
        Outgoing(message("f", unique="other", sent_at=wall), 0.0, 10.0),
    ]
    assert [(sent.id, sent.duplicate) for sent in await place.broker.send(batch)] == [
        ("a", False), ("a", True), ("old", True), ("d", False), ("a", True), ("f", False),
    ]  # fmt: skip


async def test_a_thousand_that_differ_go_in_together(place: Place) -> None:
    batch = [Outgoing(message(f"m{n}", unique=f"u{n % 400}")) for n in range(1000)]
    answers = await place.broker.send(batch)
    assert [sent.id for sent in answers] == [f"m{n % 400}" for n in range(1000)]
    assert [sent.duplicate for sent in answers] == [n >= 400 for n in range(1000)]
    again = await place.broker.send([Outgoing(message(f"n{n}", unique=f"u{n % 400}")) for n in range(1000)])
    assert [sent.id for sent in again] == [f"m{n % 400}" for n in range(1000)]
    (depth,) = await place.broker.depth()
    assert depth.ready == 400


async def test_what_was_absorbed_leaves_no_key_behind(place: Place) -> None:
    await place.send("a", unique="u")
    await place.send("b", unique="u", key="k")
    assert place.sql("SELECT count(*) FROM claim") == [(0,)]
    assert await place.state.records.get("b") is None


async def test_a_refused_hand_off_that_is_redriven_counts_again(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", body_limit=400) as place:
        await place.send("parent")
        (lease,) = await place.lease()
        large = message("large", unique="u", client="x" * 400)
        await place.broker.ack([Ack(lease, b"1", (Outgoing(large),))])
        assert (await place.record("large")).state is MessageState.DEAD
        assert await waits_for(place, "u") is None
        await place.broker.redrive(["large"])
        assert await waits_for(place, "u") == "large"


SEND_AT_ONCE = """
import asyncio, sys, msgspec
from tenure.adapters.sqlite import connect
from tenure.message import Message, Outgoing
async def main():
    broker, _ = connect(sys.argv[1])
    await broker.open()
    print("ready", flush=True)
    for n in range(20):
        sys.stdin.readline()
        one = Message(id=f"{sys.argv[2]}{n}", queue="mail", task="t", body=msgspec.Raw(b"{}"), unique=f"u{n}")
        (sent,) = await broker.send([Outgoing(one)])
        print(sent.id, flush=True)
    await broker.close()
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_of_two_processes_that_send_one_copy_waits(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    with ended(start(SEND_AT_ONCE, path, "one")) as one, ended(start(SEND_AT_ONCE, path, "two")) as two:
        assert (line_of(one), line_of(two)) == ("ready", "ready")
        for _ in range(20):
            say(one, "")
            say(two, "")
            assert line_of(one) == line_of(two)
    async with Place(path, SYSTEM_CLOCK) as place:
        (depth,) = await place.broker.depth()
        assert depth.ready == 20
