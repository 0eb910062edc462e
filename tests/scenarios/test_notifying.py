"""From submit to `/internal/notify`: workers that are killed at every step of a webhook's way."""

from collections.abc import Callable
from functools import partial

import msgspec
import pytest
from tests.webhooks.receivers import silent

from tenure.message import MessageState

from .azure_ground import AzureGround
from .grounds import on, on_each
from .hooked import STEPS
from .notified import SETTINGS, YES, Notified, notified
from .process import Process
from .sqs_ground import SqsGround
from .stage import Stage

_FINISHED = {MessageState.COMPLETED, MessageState.DEAD, MessageState.CANCELLED}
_WORDS = ("worker", "scenarios.served:app", "--verbose", "--concurrency", "10")


class _Flow:
    """Messages that end in each way, and what their receiver must be told."""

    def __init__(self, stage: Stage, orders: Notified) -> None:
        self._stage = stage
        self._orders = orders
        self.wanted: dict[str, str] = {}

    @property
    def dead(self) -> list[str]:
        return [id for id, status in self.wanted.items() if status == "failed"]

    def submit(self) -> list[str]:
        """One that completes, one that fails for good, one that is cancelled; and one that asks for nothing."""
        stage, name = self._stage, self._orders.name
        (completed,) = stage.submit("nap", {"seconds": 0.0}, webhook=name)
        (failed,) = stage.submit("fail", {}, webhook=name)
        (cancelled,) = stage.submit("nap", {"seconds": 0.0}, webhook=name, delay=3600)
        stage.submit("nap", {"seconds": 0.0}, webhook=None)
        assert stage.do(stage.app.handle(cancelled).cancel())
        self.wanted |= {completed: "completed", failed: "failed", cancelled: "cancelled"}
        return [completed, failed, cancelled]

    def worker(self, step: str) -> Process:
        """One that stands still at this step."""
        worker = self._stage.start("-m", "scenarios.hooked", step, *_WORDS)
        self._stage.until(lambda: worker.pid in self._stage.alive() or worker.exit_code is not None, "a worker joins")
        assert worker.exit_code is None, worker.said
        return worker

    def have_ended(self, ids: list[str]) -> bool:
        """Whether none of these goes on."""
        return set(self._stage.states(ids)) <= _FINISHED

    def has_arrived(self, step: str, times: int) -> Callable[[], bool]:
        """Whether a worker stands at this step, so often."""
        file = self._stage.folder / f"at-{step}"
        return lambda: file.exists() and file.stat().st_size >= times


@on_each("lease", {"sqlite": [600.0], "valkey9": [600.0], "sqs": [30.0], "azurite": [30.0]})
@pytest.mark.timeout(400)
def test_every_ending_arrives_under_one_id_though_workers_are_killed_at_each_step(stage: Stage, lease: float) -> None:
    """One worker at a time. The next one finds what all before it left, and is killed at the next step.

    In the cloud, what a worker had received and not yet entered as its own is hidden until the lease ends.
    """
    stage.configure(lease=lease, sweep_interval=1, **SETTINGS)
    with notified(stage) as orders:
        flow = _Flow(stage, orders)
        (never,) = stage.submit("nap", {"seconds": 0.0}, webhook=orders.name, delay=7200)

        # While a message is handled.
        worker = flow.worker("none")
        (held,) = stage.submit("pass_gate", {"gate": "open"}, webhook=orders.name)
        flow.wanted[held] = "completed"
        stage.until_started(1)
        worker.kill()
        stage.open_gate("open")

        for step in STEPS:
            worker = flow.worker(step)
            ids = flow.submit()
            stage.until(flow.has_arrived(step, 1), f"a worker stands where webhooks are {step}")
            if step == "ended":
                stage.until(partial(flow.have_ended, ids), "all three have ended")
            worker.kill()

        # While it posts: the receiver has read the request, and says nothing.
        orders.reply(silent)
        before = orders.requests
        worker = flow.worker("none")
        flow.submit()
        stage.until(lambda: orders.requests > before, "a worker posts")
        worker.kill()
        orders.reply(YES)

        flow.worker("none")
        orders.until_told(flow.wanted, within=200)
        stage.until(lambda: stage.do(_nothing_waits(stage)), "every delivery is settled")
        orders.check(flow.wanted)
        stage.verdict(dead=flow.dead, unfinished=[never])


@on("sqlite", "valkey9")
def test_serve_delivers_what_ended_when_no_worker_runs(stage: Stage) -> None:
    """The worker is killed before it has announced anything; what is cancelled later ends without any worker."""
    stage.configure(lease=600, sweep_interval=1, **SETTINGS)
    with notified(stage) as orders:
        flow = _Flow(stage, orders)
        worker = flow.worker("ended")
        ids = flow.submit()
        stage.until(partial(flow.have_ended, ids), "all three have ended")
        worker.kill()
        (late,) = stage.submit("nap", {"seconds": 0.0}, webhook=orders.name)
        assert stage.do(stage.app.handle(late).cancel())
        flow.wanted[late] = "cancelled"

        stage.start("-m", "tenure", "serve", "scenarios.served:app", "--port", "0")
        orders.until_told(flow.wanted)
        orders.check(flow.wanted)


@on("sqlite", "valkey9")
def test_many_endings_that_wait_for_a_disabled_endpoint_arrive_once_it_is_enabled(stage: Stage) -> None:
    """None of 400 is told before; and the worker that delivers them is not the one that let them end."""
    stage.configure(lease=600, sweep_interval=1, **SETTINGS)
    with notified(stage) as orders:
        flow = _Flow(stage, orders)
        stage.do(stage.app.operate.disable_endpoint(orders.name, reason="moves"))
        first = flow.worker("none")
        ids = stage.submit_many("nap", [{"seconds": 0.0}] * 400, webhook=orders.name)
        flow.wanted |= dict.fromkeys(ids, "completed")
        stage.until_settled()
        assert orders.requests == 0
        first.kill()

        flow.worker("none")
        stage.do(stage.app.operate.enable_endpoint(orders.name))
        orders.until_told(flow.wanted)
        stage.until(lambda: stage.do(_nothing_waits(stage)), "every delivery is settled")
        orders.check(flow.wanted)
        stage.verdict()


@on("sqs", "azurite")
@pytest.mark.timeout(240)
def test_a_message_of_a_plain_producer_is_told_by_the_id_that_the_producer_gave(stage: Stage) -> None:
    """The producer knows no Tenure: it writes a URL beside its own task_id, and the receiver is told that id."""
    stage.configure(lease=30, sweep_interval=1, **SETTINGS)
    ground = stage.ground
    assert isinstance(ground, SqsGround | AzureGround)
    with notified(stage) as orders:
        kinds = {"order-1": ("nap", {"seconds": 0.0}), "order-2": ("fail", {})}
        for id, (kind, payload) in kinds.items():
            body = {"task_id": id, "task_type": kind, "payload": payload, "webhook_url": orders.url}
            ground.put_plain(stage.app.queue, msgspec.json.encode(body).decode())
        stage.start("-m", "tenure", "worker", "scenarios.served_foreign:app", "--verbose")
        wanted = {"order-1": "completed", "order-2": "failed"}
        orders.until_told(wanted, within=120)
        orders.check(wanted)


async def _nothing_waits(stage: Stage) -> bool:
    """Whether there is neither an announcement nor a delivery that has not ended."""
    waiting = await stage.app.operate.deliveries()
    return not await stage.app.broker.announcements() and not waiting.deliveries
