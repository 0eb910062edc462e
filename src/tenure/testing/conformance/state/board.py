"""The board: notices of operators and schedules, the same for every worker, until they are withdrawn."""

import asyncio

import msgspec

from tenure.notice import Notices, Pause, Tick
from tenure.testing.harness import QUEUE, Harness

NIGHTLY = Tick(
    schedule="nightly",
    at=1000.0,
    message_id="a",
    spec="0 3 * * * Europe/Berlin",
    task="report",
    queue="reports",
    next_at=2000.0,
)


class Board:
    """The promises of the board."""

    async def test_nothing_is_said_at_first(self, harness: Harness) -> None:
        assert await harness.state.board.read() == Notices()
        assert await harness.state.board.ticks() == []

    async def test_a_pause_is_told_as_it_was_said(self, harness: Harness) -> None:
        pause = Pause("mail", harness.clock.wall(), "ada")
        assert await harness.state.board.pause(pause) is True
        assert await harness.state.board.read() == Notices((pause,))

    async def test_pauses_are_told_by_queue(self, harness: Harness) -> None:
        pauses = [Pause(queue, at) for queue, at in (("c", 1.0), ("a", 2.0), ("b", 3.0))]
        assert [await harness.state.board.pause(pause) for pause in pauses] == [True] * 3
        assert [one.queue for one in (await harness.state.board.read()).paused] == ["a", "b", "c"]

    async def test_the_first_pause_stands(self, harness: Harness) -> None:
        first = Pause("mail", 10.0, "ada")
        await harness.state.board.pause(first)
        assert await harness.state.board.pause(first) is False
        assert await harness.state.board.pause(Pause("mail", 20.0, "eve")) is False
        assert (await harness.state.board.read()).paused == (first,)

    async def test_of_pauses_at_once_one_stands(self, harness: Harness) -> None:
        pauses = [Pause("mail", float(number), str(number)) for number in range(6)]
        answers = await asyncio.gather(*(harness.state.board.pause(pause) for pause in pauses))
        assert sorted(answers) == [False] * 5 + [True]
        assert (await harness.state.board.read()).paused == (pauses[answers.index(True)],)

    async def test_a_resumed_queue_is_no_longer_paused(self, harness: Harness) -> None:
        mail, print_ = Pause("mail", 10.0), Pause("print", 10.0)
        await harness.state.board.pause(mail)
        await harness.state.board.pause(print_)
        assert await harness.state.board.resume("mail") is True
        assert (await harness.state.board.read()).paused == (print_,)
        assert await harness.state.board.pause(Pause("mail", 30.0)) is True

    async def test_what_is_not_paused_cannot_be_resumed(self, harness: Harness) -> None:
        assert await harness.state.board.resume("mail") is False
        await harness.state.board.pause(Pause("mail", 10.0))
        assert await harness.state.board.resume("print") is False
        assert await harness.state.board.resume("mail") is True
        assert await harness.state.board.resume("mail") is False

    async def test_a_pause_is_a_notice_and_keeps_nobody_from_leasing(self, harness: Harness) -> None:
        message = await harness.put()
        await harness.state.board.pause(Pause(QUEUE, harness.clock.wall()))
        assert (await harness.lease_one(harness.stranger())).id == message.id

    async def test_pauses_and_cancels_are_told_together(self, harness: Harness) -> None:
        pause = Pause("print", 10.0)
        await harness.state.board.pause(pause)
        lease = await harness.leased(harness.stranger())
        await harness.broker.cancel([lease.id])
        assert await harness.state.board.read() == Notices((pause,), 1, (lease.id,))
        assert await harness.state.board.read() == Notices((pause,), 1, (lease.id,))
        await harness.state.board.resume("print")
        assert await harness.state.board.read() == Notices((), 1, (lease.id,))

    async def test_a_first_tick_is_noted_as_it_was_said(self, harness: Harness) -> None:
        assert await harness.state.board.tick(NIGHTLY) is True
        assert await harness.state.board.ticks() == [NIGHTLY]
        seen = Tick(schedule="hourly", at=5.0, first_seen=True)
        assert await harness.state.board.tick(seen) is True
        assert await harness.state.board.ticks() == [seen, NIGHTLY]

    async def test_a_newer_tick_takes_its_place(self, harness: Harness) -> None:
        await harness.state.board.tick(NIGHTLY)
        newer = Tick(schedule="nightly", at=1000.5, message_id="b", spec="other")
        assert await harness.state.board.tick(newer) is True
        assert await harness.state.board.ticks() == [newer]

    async def test_a_tick_that_is_not_newer_changes_nothing(self, harness: Harness) -> None:
        await harness.state.board.tick(NIGHTLY)
        equal = msgspec.structs.replace(NIGHTLY, message_id="b", spec="other", next_at=3000.0)
        older = msgspec.structs.replace(NIGHTLY, at=999.0, message_id="c")
        for tick in (NIGHTLY, equal, older):
            assert await harness.state.board.tick(tick) is False
            assert await harness.state.board.ticks() == [NIGHTLY]

    async def test_of_many_with_the_same_tick_one_may_send(self, harness: Harness) -> None:
        for round_ in range(3):
            ticks = [Tick(schedule="nightly", at=float(round_), message_id=f"{round_}-{n}") for n in range(6)]
            answers = await asyncio.gather(*(harness.state.board.tick(tick) for tick in ticks))
            assert sorted(answers) == [False] * 5 + [True]
            assert await harness.state.board.ticks() == [ticks[answers.index(True)]]

    async def test_of_many_ticks_at_once_the_newest_is_left(self, harness: Harness) -> None:
        moments = [3.0, 1.0, 5.0, 2.0, 4.0]
        ticks = [Tick(schedule="nightly", at=at) for at in moments]
        answers = await asyncio.gather(*(harness.state.board.tick(tick) for tick in ticks))
        assert answers[moments.index(5.0)] is True
        assert [one.at for one in await harness.state.board.ticks()] == [5.0]

    async def test_schedules_are_apart_and_told_by_name(self, harness: Harness) -> None:
        for name, at in (("c", 3.0), ("a", 1.0), ("b", 2.0)):
            assert await harness.state.board.tick(Tick(schedule=name, at=at)) is True
        told = await harness.state.board.ticks()
        assert [(one.schedule, one.at) for one in told] == [("a", 1.0), ("b", 2.0), ("c", 3.0)]

    async def test_a_schedule_that_is_forgotten_begins_anew(self, harness: Harness) -> None:
        await harness.state.board.tick(NIGHTLY)
        await harness.state.board.tick(Tick(schedule="hourly", at=5.0))
        assert await harness.state.board.forget("nightly") is True
        assert await harness.state.board.forget("nightly") is False
        assert [one.schedule for one in await harness.state.board.ticks()] == ["hourly"]
        older = msgspec.structs.replace(NIGHTLY, at=1.0)
        assert await harness.state.board.tick(older) is True

    async def test_what_is_said_outlives_the_connection(self, harness: Harness) -> None:
        pause = Pause("mail", 10.0, "ada")
        await harness.state.board.pause(pause)
        await harness.state.board.tick(NIGHTLY)
        lease = await harness.leased(harness.stranger())
        await harness.broker.cancel([lease.id])
        await harness.reopen()
        assert await harness.state.board.read() == Notices((pause,), 1, (lease.id,))
        assert await harness.state.board.ticks() == [NIGHTLY]
        assert await harness.state.board.tick(NIGHTLY) is False
