"""A machine that is taken away: its worker leases nothing more at once, and returns what runs before the end."""

import asyncio

from tenure import Context, Tenure
from tenure.message import MessageState
from tenure.platforms.calls import Unanswered
from tenure.platforms.notices import LOOK_SECONDS, RETURN_SECONDS, Notice, NoticeWatch
from tenure.testing.virtual import VirtualClock


class Board:
    """Announces what the test says."""

    name = "the platform"

    def __init__(self) -> None:
        self.notice: Notice | None = None
        self.is_away = False

    async def read(self) -> Notice | None:
        if self.is_away:
            raise Unanswered("no answer")
        return self.notice


async def test_a_spot_notice_drains_the_worker_and_returns_what_cannot_end_in_time(
    virtual_clock: VirtualClock,
) -> None:
    """Two minutes: the short run ends, the long one is ready again before the machine goes."""
    app, ended = Tenure("memory://notice", clock=virtual_clock), []

    @app.task(lease=600)
    async def work(ctx: Context, seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append(seconds)

    board, began = Board(), virtual_clock.now
    async with app, app.worker(grace=3600) as worker:
        long, short = await app.submit(work.bind(7200.0)), await app.submit(work.bind(60.0))
        await asyncio.sleep(1)
        watch = asyncio.create_task(NoticeWatch([board], worker, virtual_clock).run())
        board.notice = Notice("EC2 interrupts this spot instance", virtual_clock.wall() + 120)
        await asyncio.sleep(LOOK_SECONDS + 1)
        late = await app.submit(work.bind(1.0))
        await asyncio.sleep(120 - RETURN_SECONDS)
        await watch
        await worker.asked_to_stop()
        await worker.stop()
        states = [(await app.handle(one.id).status()).state for one in (long, short, late)]
    assert ended == [60.0]
    assert states == [MessageState.READY, MessageState.COMPLETED, MessageState.READY]
    assert virtual_clock.now < began + 200, "it did not wait for the grace, nor for the lease"


async def test_a_notice_without_a_time_lets_everything_finish(virtual_clock: VirtualClock) -> None:
    app, ended = Tenure("memory://notices", clock=virtual_clock), []

    @app.task
    async def work(seconds: float) -> None:
        await asyncio.sleep(seconds)
        ended.append(seconds)

    board = Board()
    board.is_away = True
    async with app, app.worker() as worker:
        watch = asyncio.create_task(NoticeWatch([board], worker, virtual_clock).run())
        await app.submit(work.bind(300.0))
        await asyncio.sleep(30)
        assert not watch.done(), "a platform that does not answer announces nothing"
        board.is_away, board.notice = False, Notice("the group takes this instance away", None)
        await worker.asked_to_stop()
        assert ended == [300.0]
        assert worker.leaving == "drained: the group takes this instance away"
        await watch
