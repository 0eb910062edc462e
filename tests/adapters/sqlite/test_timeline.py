"""Store time: one clock for all processes of a host; it neither jumps nor goes back."""

from pathlib import Path

from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.broker import SweepRequest
from tenure.testing.virtual import WALL_EPOCH

from .place import Place

HOUR = 3600.0


class Machine:
    """A clock that a test sets as it likes."""

    def __init__(self, monotonic: float = 100.0, wall: float = WALL_EPOCH, boot: str = "first") -> None:
        self.now = monotonic
        self.wall_now = wall
        self.boot = boot

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.wall_now

    def boot_id(self) -> str:
        return self.boot

    def advance(self, seconds: float) -> None:
        self.now += seconds
        self.wall_now += seconds


async def test_processes_agree_although_their_wall_clocks_do_not(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", Machine()) as one, Place(tmp_path / "q.db", Machine(wall=5.0)) as two:
        assert one.store.timeline.now() == two.store.timeline.now() == micros(WALL_EPOCH)


async def test_jumps_of_the_wall_clock_change_nothing(tmp_path: Path) -> None:
    machine = Machine()
    async with Place(tmp_path / "q.db", machine) as place:
        await place.send("soon", delay=10.0)
        await place.send("held")
        await place.lease()
        for jump in (HOUR, -2 * HOUR):
            machine.wall_now += jump
            assert await place.lease() == []
            record = await place.record("held")
            assert record.deadline_in == 30.0
            assert (await place.record("soon")).due_in == 10.0
        machine.advance(10.0)
        assert [lease.id for lease in await place.lease()] == ["soon"]


async def test_a_jump_between_two_openings_changes_nothing_either(tmp_path: Path) -> None:
    machine = Machine()
    async with Place(tmp_path / "q.db", machine) as place:
        await place.send("soon", delay=10.0)
    machine.advance(4.0)
    machine.wall_now += HOUR
    async with Place(tmp_path / "q.db", machine) as place:
        assert (await place.record("soon")).due_in == 6.0


async def test_after_a_reboot_time_goes_on(tmp_path: Path) -> None:
    async with Place(tmp_path / "q.db", Machine(monotonic=9000.0)) as place:
        await place.send("soon", delay=100.0)
    async with Place(tmp_path / "q.db", Machine(monotonic=3.0, wall=WALL_EPOCH + 40.0, boot="second")) as place:
        assert (await place.record("soon")).due_in == 60.0


async def test_time_does_not_go_back_with_a_clock_that_forgot_the_year(tmp_path: Path) -> None:
    machine = Machine(monotonic=9000.0)
    async with Place(tmp_path / "q.db", machine) as place:
        machine.advance(50.0)
        await place.broker.sweep(SweepRequest())
        await place.send("soon", delay=100.0)
        last = place.store.timeline.now()
    async with Place(tmp_path / "q.db", Machine(monotonic=1.0, wall=7.0, boot="second")) as place:
        assert place.store.timeline.now() == last
        assert (await place.record("soon")).due_in == 100.0


async def test_fences_leap_over_those_that_a_power_cut_may_have_swallowed(tmp_path: Path) -> None:
    """A lease does not wait for the disk, so the last ones may be gone after a power cut; their fences are not."""
    async with Place(tmp_path / "q.db", Machine()) as place:
        await place.send("a")
        (lease,) = await place.lease()
    place.sql("DELETE FROM loan WHERE fence = ?", lease.fence)
    place.sql("UPDATE message SET state = 0")
    async with Place(tmp_path / "q.db", Machine()) as place:
        (same_boot,) = await place.lease()
        assert same_boot.fence == lease.fence
    async with Place(tmp_path / "q.db", Machine(boot="second")) as place:
        await place.send("b")
        (next_boot,) = await place.lease()
        assert next_boot.fence > lease.fence + 1_000_000


async def test_a_boot_that_comes_back_keeps_its_offset(tmp_path: Path) -> None:
    machine = Machine()
    async with Place(tmp_path / "q.db", machine):
        pass
    machine.advance(20.0)
    async with Place(tmp_path / "q.db", machine) as first:
        machine.wall_now += HOUR
        async with Place(tmp_path / "q.db", machine) as second:
            assert first.store.timeline.now() == second.store.timeline.now()


def test_microseconds_are_exact() -> None:
    for moment in (0.1, 1000.1 + 0.3, 123456.789):
        assert micros(moment) + micros(0.7) == micros(moment + 0.7)
    assert seconds(micros(1.5)) == 1.5
