"""The path of one worker and the parts beside it, put together. This module builds them and does nothing else.

    intake → admission → holding → handling → outbox → reporting          (`path/stages.py`)

The stages are made from the last one to the first, because each is given the next. What is found beside the path (a
lost lease, a run over its time, a paused queue) goes straight to the one stage that can act on it. Made by `worker.py`,
which starts and stops it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from tenure.broker import Broker
from tenure.client.claim_check import ClaimCheck
from tenure.clock import Clock
from tenure.foreign import Router
from tenure.monitoring.telemetry import Telemetry
from tenure.notice import Post
from tenure.rules.client_weights import by_queue
from tenure.rules.fair_turns import FairTurns
from tenure.rules.shared_samples import is_shared
from tenure.runtime.background.background import Background, Job, Twins, WorkerLoop
from tenure.runtime.background.bus import Bus
from tenure.runtime.background.facts import Facts
from tenure.runtime.background.heartbeat import Beat, Heartbeat
from tenure.runtime.background.membership import Membership
from tenure.runtime.background.sampler import Sampler
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.background.tallying import Tallying
from tenure.runtime.background.worker_metrics import WorkerMetrics
from tenure.runtime.delivery import Delivery
from tenure.runtime.options import WorkerOptions
from tenure.runtime.ownership.ownership import Ownership
from tenure.runtime.path.admission import Admission
from tenure.runtime.path.cancels import Cancels
from tenure.runtime.path.context_link import ContextServices, WorkerLink
from tenure.runtime.path.deletions import Deletions
from tenure.runtime.path.detail import Detail
from tenure.runtime.path.duplicates import Duplicates
from tenure.runtime.path.group_fetch import GroupFetch
from tenure.runtime.path.handing_on import Resolve
from tenure.runtime.path.handling import Handling
from tenure.runtime.path.holding import Holding
from tenure.runtime.path.intake import Intake
from tenure.runtime.path.learning import Learning
from tenure.runtime.path.outbox import Outbox
from tenure.runtime.path.progress import ProgressWriter
from tenure.runtime.path.reporting import Reporting
from tenure.runtime.path.slots import Slots
from tenure.runtime.path.unknown_tasks import UnknownTasks
from tenure.runtime.path.waiting_room import WaitingRoom
from tenure.runtime.processes.import_path import Locator
from tenure.runtime.processes.pool import ProcessPool
from tenure.runtime.supervisor.remote_heartbeat import RemoteHeartbeat
from tenure.runtime.supervisor.supervisor_link import SupervisorLink
from tenure.state import State
from tenure.tasks.limits import code_limits
from tenure.tasks.task import Task
from tenure.timing.tallied import store_seconds

#: Suspects run alone, each in a process of its own: at most this many such processes at once. Most of them only ran
#: beside the one that crashes, so they should not wait long for each other.
MOST_SOLOS = 16


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """The parts that a worker brings along."""

    broker: Broker
    state: State
    tasks: Mapping[str, Task[..., Any]]
    clock: Clock
    options: WorkerOptions
    membership: Membership
    slots: Slots
    bus: Bus
    locate: Callable[[Task[..., Any]], Locator]
    #: Makes the pools of child processes.
    children: Callable[..., ProcessPool]
    #: To the parent of several worker processes.
    supervisor: SupervisorLink | None = None
    router: Router | None = None
    claim_check: ClaimCheck | None = None
    telemetry: Telemetry | None = None
    #: Finds the webhooks of messages that are handed on.
    resolve: Resolve | None = None
    #: An operator has this worker drain or stop.
    on_leave: Callable[[Post], None]


class Pipeline:
    """The parts of one worker."""

    def __init__(self, given: Given) -> None:
        """Make the parts. Called on the loop that they will run on."""
        self._given = given
        self._worker_loop = WorkerLoop()
        self._twins = Twins(given.broker, given.state)
        #: The store's wall time.
        self.wall = self._twins.state.wall
        #: How the worker's time is shared out among clients.
        self.turns = FairTurns(given.options.concurrency, by_queue(given.options.client_weights))
        self._make_records()
        self.heartbeat = self._make_heartbeat()
        self.ownership = self._make_ownership()
        self._make_services()
        self._make_stages()
        self.background = self._make_background()
        self.metrics = self._make_metrics()

    # -- the path ----------------------------------------------------------------------------------

    def _make_stages(self) -> None:
        """Make the stages, from the last to the first."""
        given, clock, slots, traits = self._given, self._given.clock, self._given.slots, self._given.broker.traits
        self.reporting = Reporting(
            clock,
            slots,
            self.facts,
            detail=self.detail,
            sampler=self.sampler,
            deletions=self.deletions,
            bodies=self.ownership.bodies,
            turns=self.turns,
            on_reported=self._note_running,
        )
        self.outbox = Outbox(
            self.ownership,
            self.heartbeat,
            clock,
            self.reporting,
            batch_limit=traits.batch_limit,
            look_why=Cancels(given.state.records, given.state.journal).look,
        )
        self._waiting_room = waiting_room = WaitingRoom(clock, slots)
        self.handling = Handling(
            clock,
            slots,
            self.outbox,
            make_link=partial(WorkerLink, services=self.services),
            children=self._make_children("process", given.options.concurrency),
            solo=self._make_children("solo", min(MOST_SOLOS, given.options.concurrency), reuse=False),
            bodies=self.ownership.bodies,
            groups=GroupFetch(given.state, clock),
            resolve=given.resolve,
            records=given.state.records,
            on_fetched=self.services.measure,
            on_ended=waiting_room.leave,
        )
        self.holding = Holding(
            self.heartbeat, self.handling, self.outbox, slots, waiting_room,
            on_started=self._note_running, on_held=self.detail.held,
        )  # fmt: skip
        admission = Admission(
            self.ownership,
            slots,
            self.holding,
            self.outbox,
            owner_id=self.facts.owner_id,
            tasks=given.tasks,
            learning=self.learning,
            unknown_tasks=UnknownTasks(given.state, clock, probe=given.membership.probe),
            lease_per_message=traits.lease_per_message,
            duplicates=Duplicates(given.state.journal),
            on_received=self.detail.received,
        )
        self.intake = Intake(
            given.broker,
            clock,
            slots,
            given.membership,
            admission,
            queues=given.options.queues,
            lease_seconds=given.options.lease_seconds,
            learning=self.learning,
            turns=self.turns,
        )
        self.handling.telemetry = given.telemetry
        if given.telemetry is not None:
            admission.on_ready = partial(self._tell_received, given.telemetry)

    def _tell_received(self, telemetry: Telemetry, ready: Sequence[Delivery]) -> None:
        followed = [one.message for one in ready if one.message is not None and one.message.headers]
        if followed:
            telemetry.received(followed, self.intake.last_seconds)

    def _make_children(self, name: str, most: int, **more: Any) -> ProcessPool:
        return self._given.children(self._given.locate, most=most, clock=self._given.clock, name=name, **more)

    # -- what the stages use -----------------------------------------------------------------------

    def _make_records(self) -> None:
        """Make the parts that count, learn and report."""
        given, options, membership = self._given, self._given.options, self._given.membership
        clock, journal, traits = given.clock, given.state.journal, given.broker.traits
        self.statistics = Statistics()
        self.tallying = Tallying(
            self.statistics,
            journal,
            self.wall,
            nonce=membership.owner.nonce,
            every_seconds=store_seconds(traits.snapshot_seconds),
        )
        self.facts = Facts(
            given.bus,
            clock,
            self.statistics,
            owner_id=lambda: membership.owner.id,
            wall=self.wall,
            has_statistics=options.statistics,
        )
        self.detail = Detail(self.facts, clock, options.detail, given.tasks)
        self.learning = Learning(
            journal, given.tasks, traits, clock, lease_seconds=options.lease_seconds, is_on=options.learning
        )
        self.sampler = Sampler(journal, self.learning.observe)
        self.sampler.is_shared = self.learning.is_shared = is_shared(options.queues)
        self.deletions = Deletions(self.facts.tell)

    def _make_heartbeat(self) -> Heartbeat:
        """Make the heartbeat, here or in the supervisor. The stages that it calls are made after it."""
        link, call = self._given.supervisor, self._worker_loop.call
        make = partial(RemoteHeartbeat, link) if link is not None and link.keeps_leases else Heartbeat
        heartbeat = make(
            self._twins.broker,
            self._twins.state.ledger,
            self._given.clock,
            on_lost=lambda delivery: call(self.holding.on_lost, delivery),
            on_overheld=lambda delivery: call(self.handling.end_overheld, delivery),
            on_failed=lambda ids, error: call(self.facts.on_beat_failed, ids, error),
            on_beats=lambda beats: call(self._on_beats, beats),
        )
        heartbeat.expected = self.learning.foreseen
        return heartbeat

    def _make_ownership(self) -> Ownership:
        given = self._given
        return Ownership(
            given.broker,
            given.state.ledger,
            given.clock,
            wall=self.wall,
            has_presence=True,
            router=given.router,
            max_attempts=given.options.sweep.max_attempts,
            claim_check=given.claim_check,
        )

    def _make_services(self) -> None:
        """Make the services that contexts use."""
        given = self._given
        self.progress = ProgressWriter(given.state.records, given.clock)
        self.services = ContextServices(
            self.heartbeat,
            given.state.records,
            self.progress,
            given.clock,
            given.broker,
            wall=self.wall,
            slots=given.slots.total,
            check=given.claim_check,
            learning=self.learning,
            tell_size=self.facts.tell_size,
            telemetry=given.telemetry,
        )

    def _make_background(self) -> Background:
        given, link = self._given, self._given.supervisor
        return Background(
            self._twins, self.heartbeat, given.clock, given.options, self._worker_loop,
            owner=lambda: given.membership.owner, runs=self.handling, publish=self.facts.publish,
            on_paused=self.intake.pause, on_limits=self.intake.limit, limits=code_limits(given.tasks.values()),
            on_weights=self._weigh,
            on_blocked=self.facts.on_blocked, on_leave=given.on_leave,
            counts=lambda: given.bus.counts, journal_waiting=lambda: given.bus.waiting,
            on_look=(lambda: None) if link is None else link.tick,
            beats_here=link is None or not link.keeps_leases, probe=given.membership.probe,
        )  # fmt: skip

    def _make_metrics(self) -> WorkerMetrics:
        given, options, facts = self._given, self._given.options, self.statistics.facts
        slots, room, background = given.slots, self._waiting_room, self.background
        self.intake.times, self.outbox.times = facts.lease_calls, facts.settle_calls
        return WorkerMetrics(
            self.statistics, given.bus, given.clock, self.wall, label_values=options.label_values,
            sweep_interval_seconds=options.sweep.interval_seconds,
            gauges=lambda: {
                "tenure_worker_slots": slots.total,
                "tenure_worker_slots_used": slots.running,
                "tenure_worker_limit_waiting_messages": len(room),
                "tenure_sweep_age_seconds": background.sweep_age(),
            },
        )  # fmt: skip

    # -- for the worker ----------------------------------------------------------------------------

    def helpers(self) -> list[Job]:
        """List the jobs beside intake that run on the worker's loop until everything is settled."""
        tallying = [self.tallying.run] if self._given.options.stores_figures else []
        return [
            self.outbox.run, self.progress.run, self.sampler.run, self.ownership.bodies.run, self.deletions.run,
            self.learning.run, *tallying,
        ]  # fmt: skip

    def serve(self, queues: Sequence[str]) -> None:
        """Serve these queues, names and patterns, from the next lease on."""
        self.background.serve(queues)
        self.intake.serve(queues)
        self.sampler.is_shared = self.learning.is_shared = is_shared(queues)

    def _weigh(self, weights: dict[str, float]) -> None:
        self.turns.weights = weights

    async def close(self) -> None:
        """Publish and store what is still open, after everything is settled."""
        await self.sampler.flush()
        if self._given.options.stores_figures:
            await self.tallying.close()
        self.deletions.tell()
        await self.ownership.bodies.flush()

    def _on_beats(self, beats: Sequence[Beat]) -> None:
        self.facts.on_beats(beats)
        self.detail.extended(beats)

    def _note_running(self) -> None:
        """Note for the supervisor, if there is one, what runs here, in case this process dies."""
        if self._given.supervisor is not None:
            self._given.supervisor.note(self.facts.owner_id(), self.handling.running_ids)
