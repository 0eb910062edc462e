"""Scenes about who is dead: a worker holds a message, something happens to it, and another worker looks on.

The onlooker is a *witness* if it shares the holder's PID namespace, where the operating system can prove a death to it;
else it is in a namespace of its own, as in another container, where nothing proves anything.

Every scene ends with `Scene.outcome`, which prints what was measured before anything is asserted. The scenes are played
by `test_presence.py`, `test_sqs_presence.py` and `test_azure_presence.py`.
"""

import re
from collections.abc import Sequence
from functools import partial

import msgspec

from tenure.clock import SYSTEM_CLOCK
from tenure.event import EventKind
from tenure.message import Counters
from tenure.record import Record

from .azure_ground import AzureGround
from .namespaces import THROUGH, need_namespaces
from .process import Process
from .sqs_ground import SqsGround
from .stage import Stage
from .traces import Run

#: DESIGN §1, "fast recovery": where a death can be proved.
PROVED_SECONDS = 3.0
#: The same on SQS and Azure.
PROVED_IN_THE_CLOUD_SECONDS = 10.0
#: Where nobody else worked: after the next start and one lease.
RESTART_SECONDS = 5.0
#: From the moment that a message is free until it runs, and what a clock and a slow machine add.
FETCH_SECONDS = 2.0
#: After a worker may go on: how long the run that it lost may still take to end.
FENCED_SECONDS = 1.0

#: How long a worker said nothing before it was given up, when stores had such a constant: 15 s. A little longer.
SILENT_SECONDS = 17
CUT_SECONDS = 3.0

#: What a log may say of a worker only if its end was proved.
_CLAIMS = re.compile(r"\b(is gone|has ended|ended|died|is dead|declared dead|was killed|crashed)\b")


class Outcome(msgspec.Struct, frozen=True):
    """What became of one message."""

    #: The pids of its runs, in order, and how each ended.
    runs: list[Run]
    #: The longest time that two of them were at work at once.
    overlap: float
    #: From the harm to the start of the second run. None: there was none.
    back_after: float | None
    #: From the end of the lease, as it was at the harm, to the start of the second run.
    after_lease: float | None
    crashes: int
    lost: int
    attempts: int
    #: Lines of logs, and events, that call the holder dead.
    claims: list[str]

    @property
    def counters(self) -> tuple[int, int, int]:
        """Crashes, losses, failed attempts."""
        return self.crashes, self.lost, self.attempts


class Scene:
    """One event, on one store, with a witness or without."""

    def __init__(self, stage: Stage, what: str, *, witness: bool) -> None:
        """Nothing has started. `what` names the event in what is printed."""
        self.stage = stage
        self.witness = witness
        self._name = f"{what}, {type(stage.ground).__name__}, {'witness' if witness else 'no witness'}"
        self._deadlines: dict[str, float] = {}
        self._holders: dict[str, Process] = {}
        self._awake_at: dict[int, float] = {}
        self._counters: dict[str, Counters] = {}

    # -- who is there ------------------------------------------------------------------------------

    def start(self, *words: str, module: str = "tenure", through: Sequence[str] = (), concurrency: int = 1) -> Process:
        """Start a worker."""
        usual = ("worker", "scenarios.served:app", "--verbose", "--concurrency", str(concurrency))
        return self.stage.start("-m", module, *usual, *words, through=through)

    def until_they_work(self, *workers: Process) -> float:
        """Wait until each of them asks for messages."""
        for worker in workers:
            self.stage.until(partial(_works, worker), "a worker works")
        return SYSTEM_CLOCK.monotonic()

    def onlooker(self, *words: str, module: str = "tenure") -> Process:
        """Start the worker that looks on, and wait until it works."""
        if not self.witness:
            need_namespaces()
        worker = self.start(*words, module=module, through=() if self.witness else THROUGH, concurrency=2)
        self.until_they_work(worker)
        return worker

    def hold(self, holder: Process, task: str = "pass_gate", **payload: object) -> str:
        """Have `holder`, the only worker with room, run a message."""
        (id,) = self.stage.submit(task, payload or {"gate": "open"})
        self.stage.until_started(1, [id])
        assert [run.pid for run in self.stage.runs([id])] == [holder.pid], "somebody else took it"
        self._holders[id] = holder
        self._learn_the_time(id)
        return id

    def _learn_the_time(self, id: str) -> None:
        """A cloud tells its time to the second: look until a second has begun, and the end of a lease is read well."""
        until = SYSTEM_CLOCK.monotonic() + 1.05
        while isinstance(self.stage.ground, AzureGround | SqsGround) and SYSTEM_CLOCK.monotonic() < until:
            self.stage.record(id)

    def hold_anywhere(self, *workers: Process) -> tuple[str, Process]:
        """Have one of them run a message; which one it is."""
        (id,) = self.stage.submit("pass_gate", {"gate": "open"})
        self.stage.until_started(1, [id])
        (run,) = self.stage.runs([id])
        self._holders[id] = next(worker for worker in workers if worker.pid == run.pid)
        self._learn_the_time(id)
        return id, self._holders[id]

    # -- what happens ------------------------------------------------------------------------------

    def note_lease(self, id: str) -> float:
        """Remember when the lease ends, as it is now; when that was read. Nothing but its holder can change it."""
        at = SYSTEM_CLOCK.monotonic()  # before the look: the lease ends no sooner than this plus what is left of it
        record = self.stage.record(id)
        assert record.deadline_in is not None, "it is not leased"
        self._deadlines[id] = at + record.deadline_in
        return at

    def resume(self, worker: Process) -> float:
        """Let a stopped worker go on; when that was. Until then it has run nothing."""
        self._awake_at[worker.pid] = worker.resume()
        return self._awake_at[worker.pid]

    def until_free(self, id: str, within: float = 60.0) -> None:
        """Wait until the message runs a second time."""
        self.stage.until_started(2, [id], within)

    def finish(self) -> None:
        """Let every handler end, and wait until all is done."""
        # Before the end: on Azure the record of a completed message has none.
        self._counters = {id: self.stage.record(id).counters for id in self.stage.sent}
        self.stage.open_gate("open")
        self.stage.until(lambda: all(map(_is_over, self.stage.records().values())), "every message is finished")
        self.stage.until(
            lambda: all(run.how is not None or self._is_killed(run) for run in self.stage.runs()), "every run has ended"
        )

    # -- what became of it -------------------------------------------------------------------------

    def outcome(self, id: str, harmed_at: float, note: str = "") -> Outcome:
        """Measure, and print it."""
        runs = self.stage.runs([id])
        again = runs[1].start if len(runs) > 1 else None
        deadline = self._deadlines.get(id)
        counters = self._counters[id]
        outcome = Outcome(
            runs=runs,
            overlap=self._overlap(runs),
            back_after=None if again is None else again - harmed_at,
            after_lease=None if again is None or deadline is None else again - deadline,
            crashes=counters.crashes,
            lost=counters.lost,
            attempts=counters.attempts,
            claims=self._claims(self._holders[id]),
        )
        back = "kept" if outcome.back_after is None else f"back after {outcome.back_after:.2f} s"
        lease = "" if outcome.after_lease is None else f" ({outcome.after_lease:+.2f} s from the end of its lease)"
        print(  # noqa: T201 - for people who ask for it by `pytest -rP`
            f"measured: {self._name}{note and ', '}{note}: overlap {outcome.overlap:.2f} s; {back}{lease}; "
            f"crashes {counters.crashes}, lost {counters.lost}, attempts {counters.attempts}; claims {outcome.claims}"
        )
        return outcome

    def _overlap(self, runs: Sequence[Run]) -> float:
        """How long two runs were at work at once. A killed one ended with its process; a stopped one did not work."""
        pairs = [
            min(self._end(earlier), self._end(later)) - max(later.start, self._awake_at.get(earlier.pid, 0.0))
            for number, later in enumerate(runs)
            for earlier in runs[:number]
        ]
        return max([0.0, *pairs])

    def _end(self, run: Run) -> float:
        killed = [process.killed_at for process in self.stage.processes if process.pid == run.pid]
        return run.last if run.how is not None or not killed or killed[0] is None else killed[0]

    def _is_killed(self, run: Run) -> bool:
        return any(process.pid == run.pid and process.killed_at for process in self.stage.processes)

    def _claims(self, holder: Process) -> list[str]:
        """What says that the holder is dead: log lines that name it, and what the journal tells of its end."""
        name = owner_of(holder)
        lines = [line for process in self.stage.processes for line in process.said.splitlines() if name in line]
        told = [
            f"{event.kind}: {event.data.get('proof')}"
            for event in self.stage.events(EventKind.OWNER_RETIRED)
            if event.owner == name and not event.data.get("left")
        ]
        return [line for line in lines if _CLAIMS.search(line)] + told


def owner_of(worker: Process) -> str:
    """As it calls itself in its log: name and nonce."""
    found = re.search(r"(\S+) runs \d+ tasks", worker.said)
    assert found is not None, "it does not work yet"
    return found.group(1)


def _works(worker: Process) -> bool:
    assert worker.exit_code is None, f"a worker ended with {worker.exit_code} at once\n{worker.said}"
    return " runs " in worker.said


def _is_over(record: Record | None) -> bool:
    return record is not None and record.finished_at is not None


# -- the judgements ------------------------------------------------------------------------------------


def assert_kept(outcome: Outcome) -> None:
    """The worker ran its message to the end, alone, and nothing was counted or said against it."""
    assert outcome.overlap == 0.0, f"two ran it at once for {outcome.overlap:.2f} s"
    assert [run.how for run in outcome.runs] == ["returned"], f"it was taken away after {outcome.back_after} s"
    assert outcome.counters == (0, 0, 0), f"crashes, lost, attempts: {outcome.counters}"
    assert outcome.claims == [], f"a living worker was called dead: {outcome.claims}"


def assert_proved(stage: Stage, outcome: Outcome, within: float) -> None:
    """The death was proved: the message came back at once, whatever its lease, and it is a crash."""
    assert outcome.overlap == 0.0, f"two ran it at once for {outcome.overlap:.2f} s"
    assert outcome.counters == (1, 0, 0), f"crashes, lost, attempts: {outcome.counters}"
    assert outcome.claims != [], "nobody was told of the death"
    assert outcome.back_after is not None, "it never came back"
    stage.measured("until the message was back", outcome.back_after, at_most=within)


def assert_lapsed(stage: Stage, outcome: Outcome, within: float) -> None:
    """Nothing was proved: the message came back when its lease was over, not before, and it is a loss."""
    assert outcome.back_after is not None, "it never came back"
    assert outcome.after_lease is not None, "its lease was not looked at"
    assert outcome.after_lease >= 0.0, f"it was taken {-outcome.after_lease:.2f} s before its lease was over"
    assert outcome.counters == (0, 1, 0), f"crashes, lost, attempts: {outcome.counters}"
    assert outcome.claims == [], f"an end that nobody saw was called a death: {outcome.claims}"
    stage.measured("until the message was back", outcome.back_after, at_most=within)
