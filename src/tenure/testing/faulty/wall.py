"""States whose wall time is not one that all can agree on."""

from tenure.state import State
from tenure.testing.faulty.honest_state import HonestWall
from tenure.testing.virtual import VirtualClock


class WallStandsStill(HonestWall):
    """Tells when it was opened."""

    caught_by = ("WallTime",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Look once."""
        super().__init__(inner, clock)
        self._opened = inner.wall()

    def wall(self) -> float:
        """Return the wall time at which the store was opened."""
        return self._opened


class TellsTheTimeSinceBoot(HonestWall):
    """Takes the clock of deadlines for a wall clock."""

    caught_by = ("WallTime",)

    def wall(self) -> float:
        """Return the monotonic time."""
        return self.clock.monotonic()


class WallSleepsWithTheMachine(HonestWall):
    """Goes on with the timers of the loop."""

    caught_by = ("WallTime",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Look once."""
        super().__init__(inner, clock)
        self._offset = inner.wall() - clock.now

    def wall(self) -> float:
        """Return the time of the loop's timers, which stop while the machine sleeps."""
        return self.clock.now + self._offset


class NoticesNoClockThatIsSet(HonestWall):
    """Tells the time of this machine as it was at first, though this machine's clock is the store's."""

    caught_by = ("WallTime",)

    def __init__(self, inner: State, clock: VirtualClock) -> None:
        """Look once."""
        super().__init__(inner, clock)
        self._offset = inner.wall() - clock.monotonic()

    def wall(self) -> float:
        """Return the time as if this machine's clock had not been set."""
        return self.clock.monotonic() + self._offset
