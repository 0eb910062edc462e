"""The board: one cheap read a second for every worker, and a tick that is one worker's."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tenure.clock import SYSTEM_CLOCK
from tenure.notice import Notices, Pause, Post, PostKind, Tick

from .place import Place, ended, line_of, say, start

TICK = Tick(schedule="nightly", at=1_767_225_600.123456, message_id="m", spec="0 3 * * *", task="t", queue="q")


async def test_a_look_at_the_board_is_one_statement_and_never_writes(place: Place) -> None:
    for queue in ("b", "a", "ä", "Z"):
        await place.state.board.pause(Pause(queue, 1_767_225_600.123456, "ada"))
    posts = tuple(Post(kind=PostKind.STACK, name=name, at=1.0) for name in ('a"\\', "ä,b"))
    for post in posts:
        await place.state.board.post(post)
    looked: list[str] = []
    written: list[str] = []
    place.store._reader._db.set_trace_callback(looked.append)
    place.store._writer._db.set_trace_callback(written.append)
    notices = await place.state.board.read()
    assert notices.paused == tuple(Pause(queue, 1_767_225_600.123456, "ada") for queue in ("Z", "a", "b", "ä"))
    assert notices.posts == posts
    assert [statement.split()[0] for statement in looked] == ["BEGIN", "SELECT", "ROLLBACK"]
    assert written == []


async def test_an_empty_board_says_that_there_is_nothing(place: Place) -> None:
    assert await place.state.board.read() == Notices()


async def test_a_tick_that_somebody_noted_takes_no_write_lock(place: Place) -> None:
    board = place.state.board
    assert await board.tick(TICK)
    written: list[str] = []
    place.store._writer._db.set_trace_callback(written.append)
    assert not await board.tick(TICK)
    assert not await board.tick(msgspec.structs.replace(TICK, at=TICK.at - 1.0, spec="other"))
    assert [statement.split()[0] for statement in written] == ["SELECT", "SELECT"]
    assert await board.ticks() == [TICK]
    assert await board.tick(msgspec.structs.replace(TICK, at=TICK.at + 1e-6))


async def test_a_tick_that_another_noted_in_between_stands(place: Place) -> None:
    """Two look, both are unsure, and both write."""
    other = msgspec.structs.replace(TICK, message_id="other")
    act = place.state.board.tick
    newer = msgspec.structs.replace(TICK, at=TICK.at + 1)
    assert list(await asyncio.gather(act(TICK), act(other), act(newer))) == [True, False, True]


async def test_what_is_noted_is_there_after_a_restart(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db") as place:
        await place.state.board.pause(Pause("mail", 1.5, "ada"))
        await place.state.board.tick(TICK)
        await place.send("a")
        await place.lease()
        await place.broker.cancel(["a"])
    async with Place(tmp_path / "q.db") as place:
        board = place.state.board
        assert await board.read() == Notices((Pause("mail", 1.5, "ada"),), 1, ("a",))
        assert await board.ticks() == [TICK]
        assert not await board.tick(TICK)
        assert await board.resume("mail")
        assert not await board.resume("mail")
        assert await board.forget("nightly")
        assert await board.tick(TICK)


TICK_AT_ONCE = """
import asyncio, sys
from tenure.adapters.sqlite import connect
from tenure.notice import Tick
async def main():
    _, state = connect(sys.argv[1])
    await state.open()
    print("ready", flush=True)
    for at in range(1, 21):
        sys.stdin.readline()
        print(await state.board.tick(Tick(schedule="s", at=float(at), message_id=sys.argv[2])), flush=True)
    await state.close()
asyncio.run(main())
"""


@pytest.mark.real_time
async def test_of_two_processes_one_gets_each_tick(tmp_path: Path) -> None:
    path = tmp_path / "q.db"
    with ended(start(TICK_AT_ONCE, path, "one")) as one, ended(start(TICK_AT_ONCE, path, "two")) as two:
        assert (line_of(one), line_of(two)) == ("ready", "ready")
        for _ in range(20):
            say(one, "")
            say(two, "")
            assert {line_of(one), line_of(two)} == {"True", "False"}
    async with Place(path, SYSTEM_CLOCK) as place:
        (tick,) = await place.state.board.ticks()
        assert tick.at == 20.0
