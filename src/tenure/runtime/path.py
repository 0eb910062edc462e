"""The path, put together: the stages of one worker, each knowing only its neighbours.

    intake → admission (claims) → heartbeat holds → handling → outbox seals and settles → reporting

This is what admission calls its crew and what the jobs beside the path tell (`beside.py`): a word from either goes to
the stage that can act on it. Made by `worker.py`, which starts and stops it.
"""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tenure.broker import Broker
from tenure.claim_check import ClaimCheck
from tenure.clock import Clock
from tenure.errors import LeaseLost
from tenure.event import Event, EventKind
from tenure.foreign import Router
from tenure.owner import Owner
from tenure.rules.shared_samples import is_shared
from tenure.runtime import reporting
from tenure.runtime.admission import Admission
from tenure.runtime.beside import Beside
from tenure.runtime.bus import Bus
from tenure.runtime.cancels import Cancels
from tenure.runtime.children import Children
from tenure.runtime.deletions import Deletions
from tenure.runtime.delivery import Delivery
from tenure.runtime.fetching import Fetching
from tenure.runtime.handling import Handling
from tenure.runtime.intake import Intake
from tenure.runtime.learning import Learning
from tenure.runtime.link import Desk, WorkerLink
from tenure.runtime.locating import Locator
from tenure.runtime.membership import Membership
from tenure.runtime.options import WorkerOptions
from tenure.runtime.progress import ProgressWriter
from tenure.runtime.room import Room
from tenure.runtime.routing import Routing
from tenure.runtime.sampling import Sampler
from tenure.runtime.settling import Outbox
from tenure.runtime.slots import Slots
from tenure.runtime.statistics import Statistics
from tenure.runtime.tallying import Tallying
from tenure.runtime.tether import Tether
from tenure.settlement import Settlement
from tenure.state import State
from tenure.task import Task
from tenure.timing.tallied import store_seconds
from tenure.verdict import Lost, Returned, Verdict

#: Suspects run alone, each in a process of its own: at most so many such processes at once. Most of them only ran
#: beside the one that crashes, so they should not wait long for each other.
MOST_SOLOS = 16
_MIB = 1 << 20


class Path:
    """The stages of one worker."""

    def __init__(  # noqa: PLR0913 - made in one place, by the worker; everything it needs is handed in
        self, broker: Broker, state: State, tasks: Mapping[str, Task[..., Any]], clock: Clock, options: WorkerOptions,
        *, membership: Membership, slots: Slots, bus: Bus,
        locate: Callable[[Task[..., Any]], Locator], children: Callable[..., Children],
        tether: Tether | None = None, router: Router | None = None, claim_check: ClaimCheck | None = None,
    ) -> None:  # fmt: skip
        """Nothing runs yet. Made on the loop that it will run on."""
        self._clock = clock
        self._membership = membership
        self._slots = slots
        self._bus = bus
        self._tether = tether
        self.beside = Beside(broker, state, clock, self, options, tether=tether, probe=membership.probe)
        self._heartbeat = heartbeat = self.beside.heartbeat
        self._strangers = reporting.Strangers(clock)
        self._room = Room(clock, slots)
        self._room.on_free, self._room.on_tired = self._start, self._give_back
        look_why = Cancels(state.records, state.journal).look
        self.outbox = Outbox(broker, state.ledger, heartbeat, clock, self._report, claim_check, look_why=look_why)
        self.fetching = Fetching(claim_check, broker.traits, clock)
        self.progress = ProgressWriter(state.records, clock)
        self.learning = learning = Learning(
            state.journal, tasks, broker.traits, clock, lease_seconds=options.lease_seconds, is_on=options.learning
        )
        learning.is_shared = is_shared(options.queues)
        heartbeat.expected = learning.foreseen
        self.statistics = Statistics()
        self.tallying = Tallying(
            self.statistics, state.journal, self.beside.wall,
            nonce=membership.owner.nonce, every_seconds=store_seconds(broker.traits.snapshot_seconds),
        )  # fmt: skip
        self._has_statistics = options.statistics
        self.sampler = Sampler(state.journal, learning.observe)
        self.sampler.is_shared = learning.is_shared
        self.deletions = Deletions(self._tell)
        self.desk = Desk(
            heartbeat, state.records, self.progress, clock, broker,
            wall=self.beside.wall, check=claim_check, learning=learning, tell_size=self._tell_size,
        )  # fmt: skip
        self.handling = Handling(
            clock, slots, self._room, self.conclude,
            make_link=lambda delivery: WorkerLink(delivery, self.desk),
            children=children(locate, most=options.concurrency, clock=clock, name="process"),
            solo=children(
                locate, most=min(MOST_SOLOS, options.concurrency), clock=clock, name="solo", reuse=False
            ),
            fetching=self.fetching, records=state.records,
        )  # fmt: skip
        self.handling.on_fetched = self._on_fetched
        admission = Admission(
            broker, state, clock, slots, self, wall=self.beside.wall,
            tasks=tasks, room=self._room, learning=learning, routing=Routing(router, options.sweep.max_attempts),
            probe=membership.probe,
        )  # fmt: skip
        self.intake = Intake(
            broker, clock, slots, self, admission,
            queues=options.queues, lease_seconds=options.lease_seconds, learning=learning,
        )  # fmt: skip

    # -- what intake and admission ask -------------------------------------------------------------

    @property
    def owner(self) -> Owner:
        """Who leases."""
        return self._membership.owner

    @property
    def owner_id(self) -> str:
        """The word that stands on the leases."""
        return self._membership.owner.id

    async def rejoin(self) -> None:
        """Our nonce is banned: take a new one."""
        await self._membership.rejoin()
        if self._tether is not None:
            self._tether.enlisted(self.owner)

    def admit(self, deliveries: Sequence[Delivery]) -> None:
        """Hold, then run: there is no moment without somebody responsible for the lease."""
        self._heartbeat.hold(deliveries)
        self.handling.start(deliveries)
        self._note()

    def hold(self, delivery: Delivery) -> None:
        """Of a task at its limit: it waits in the room, and its lease is kept meanwhile."""
        self._heartbeat.hold([delivery], begun=False)

    def empty_room(self, verdict: Returned | None) -> None:
        """We are stopping: what has not begun will not. None: nobody is left to say so, as after `kill -9`."""
        for delivery in self._room.empty():
            if verdict is not None:
                self._give_back(delivery, verdict)

    def _start(self, delivery: Delivery) -> None:
        self._heartbeat.begin(delivery)
        self.handling.start([delivery])
        self._note()

    def _give_back(self, delivery: Delivery, verdict: Verdict) -> None:
        self._slots.finish()
        self.conclude(delivery, verdict)

    def is_running(self, id: str) -> bool:
        """Whether a run of that message has not ended here, or waits to begin, its lease lost or not."""
        return id in self.handling.running_ids or id in self._room

    def conclude(self, delivery: Delivery, verdict: Verdict) -> None:
        """A verdict is given: it goes to the outbox."""
        self.outbox.put(delivery, verdict)

    @property
    def runs(self) -> Handling:
        """What runs here."""
        return self.handling

    # -- what is told from beside ------------------------------------------------------------------

    def on_lost(self, delivery: Delivery) -> None:
        """Its lease is gone: its run is ended, or does not begin, and nothing is settled."""
        if self._room.drop(delivery):
            self._give_back(delivery, Lost())
        else:
            self.handling.end(delivery, Lost())

    def on_overheld(self, delivery: Delivery) -> None:
        """It ran longer than `max_hold`."""
        self.handling.end_overheld(delivery)

    def on_paused(self, queues: frozenset[str]) -> None:
        """Lease nothing from these."""
        self.intake.pause(queues)

    def serve(self, queues: Sequence[str]) -> None:
        """Serve these queues, names and patterns, from the next lease on."""
        self.beside.serve(queues)
        self.intake.serve(queues)
        self.sampler.is_shared = self.learning.is_shared = is_shared(queues)

    def on_beat_failed(self, count: int, error: str) -> None:
        """So many leases could not be renewed for now."""
        self._tell(EventKind.HEARTBEAT_FAILED, {"count": count, "error": error})

    def on_beats(self, names: Sequence[tuple[str, str]]) -> None:
        """Leases were renewed."""
        if self._has_statistics:
            self.statistics.beat(names)

    def on_blocked(self, seconds: float, stack: str) -> None:
        """A handler, or the machine, has held our loop."""
        self._tell(EventKind.LOOP_BLOCKED, {"seconds": round(seconds, 3), "stack": stack})

    def publish(self, events: Sequence[Event]) -> None:
        """Tell sinks and journal what sweeps and burials did."""
        if self._has_statistics:
            self.statistics.note_events(events)
        self._bus.publish(events)

    # -- the end of the path -----------------------------------------------------------------------

    def _report(self, settled: Sequence[tuple[Delivery, Settlement | None]]) -> None:
        owner, at = self.owner_id, self._clock.wall()
        self._slots.settle(len(settled))
        self.sampler.note(settled, at)
        self.deletions.note(settled, at)
        self.fetching.settled(settled)
        if self._has_statistics:
            self.statistics.note(settled, self.beside.wall() - self._clock.monotonic())
        self._note()
        for delivery, settlement in reporting.worth_logging(settled):
            reporting.log(delivery, settlement, self._strangers, at=at)
        events = reporting.events_of(settled, owner=owner, at=at)
        if len(events) < len(settled):
            self._bus.counts[EventKind.GIVEN_BACK.value] += len(settled) - len(events)
        self._bus.publish(events)

    async def _on_fetched(self, delivery: Delivery) -> None:
        """Its body came from the cloakroom: only now it can be read how large its work is."""
        sizer = None if delivery.task is None else delivery.task.sizer
        size = None if sizer is None or delivery.message is None else sizer.size_of(delivery.message.body)
        if size is not None:
            with contextlib.suppress(LeaseLost):  # then its run is ended anyway
                await self.desk.resize(delivery, size)

    def _tell_size(self, delivery: Delivery, size: float) -> None:
        seconds = self.learning.expected(delivery)
        task = None if delivery.task is None else delivery.task.name
        data = {
            "file_size_bytes": round(size),
            "file_size_mb": round(size / _MIB, 3),
            "estimated_processing_seconds": None if seconds is None else round(seconds, 3),
        }
        event = Event(
            EventKind.FILE_SIZE_DETECTED, self._clock.wall(), delivery.queue, task, delivery.id, self.owner_id,
            delivery.attempt, data=data,
        )  # fmt: skip
        self._bus.publish([event])

    def _note(self) -> None:
        """For the supervisor, if there is one: what we were at when we died."""
        if self._tether is not None:
            self._tether.note(self.owner_id, self.handling.running_ids)

    def _tell(self, kind: EventKind, data: dict[str, object]) -> None:
        self._bus.publish([Event(kind, self._clock.wall(), owner=self.owner_id, data=data)])
