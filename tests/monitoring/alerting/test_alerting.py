"""The evaluator beside a worker, in virtual time: what fires, what stays quiet, what is kept and told."""

import asyncio

import msgspec
import pytest

from tenure import Retry, Tenure, envelope
from tenure.client.finding_store import FindingStore
from tenure.client.tallies import TallyReader
from tenure.config import Settings
from tenure.errors import BadArgument, BrokerUnavailable, UnknownFinding
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.monitoring.alerting.finding import AlertState
from tenure.monitoring.catalogue import AlertSeverity
from tenure.monitoring.metrics.sample import Sample
from tenure.query import Query
from tenure.runtime.alerting import Alerting
from tenure.runtime.background.statistics import Statistics
from tenure.runtime.background.tallying import Tallying
from tenure.tasks.context import Context
from tenure.testing.virtual import VirtualClock
from tenure.webhooks.delivery import payload_of

_HOUR = 3_600.0


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def app(clock: VirtualClock) -> Tenure:
    app = Tenure("memory://", settings=Settings(secret_key="k" * 32), clock=clock)

    @app.task
    async def quick(x: int) -> int:
        await asyncio.sleep(0.05)
        return x

    @app.task
    async def flaky(ctx: Context, x: int) -> None:
        await asyncio.sleep(0.2)
        if x % 10 == 0 and ctx.attempt == 1:
            raise Retry(1.0)

    @app.task
    async def slow(x: int) -> None:
        await asyncio.sleep(90)

    return app


async def _findings(app: Tenure) -> dict[str, AlertState]:
    kept = await FindingStore(app.state).list()
    return {name: one.state for name, one in kept.items() if one.state.fired_at is not None}


async def test_an_hour_of_healthy_mixed_load_fires_nothing(app: Tenure, clock: VirtualClock) -> None:
    quick, flaky, slow = (app.tasks[name] for name in ("quick", "flaky", "slow"))
    async with app, app.worker(concurrency=20):
        for number in range(720):
            await quick.bind(number).submit()
            if number % 3 == 0:
                await flaky.bind(number).submit()
            if number % 60 == 0:
                await slow.bind(number).submit()
            await asyncio.sleep(5)
        found = await _findings(app)
    assert set(found) == {"watchdog"}


# -- faults in a real store ------------------------------------------------------------------------


def _named(found: dict[str, AlertState]) -> set[str]:
    return {name for name, state in found.items() if state.is_firing and name != "watchdog"}


async def _events(app: Tenure, kind: EventKind) -> list[str]:
    events = await app.state.journal.read(0, 100_000)
    found = [str(one.event.data["finding"]) for one in events if one.event.kind is kind]
    return [name for name in found if name != "watchdog"]


async def test_dead_letters_fire_are_told_once_and_clear(app: Tenure, clock: VirtualClock) -> None:
    @app.task(max_attempts=1)
    async def broken(x: int) -> None:
        raise ValueError(x)

    async with app, app.worker() as worker:
        await asyncio.sleep(200)
        await broken.bind(1).submit()
        await asyncio.sleep(60)
        found = await _findings(app)
        assert _named(found) == {"dead_letters@default-tasks"}
        assert found["dead_letters@default-tasks"].severity is AlertSeverity.SHOW
        await app.submit_many([broken.bind(number) for number in range(20)])
        await asyncio.sleep(60)
        found = await _findings(app)
        assert found["dead_letters@default-tasks"].severity is AlertSeverity.TICKET
        kinds = [one.event.kind for one in await app.state.journal.read(0, 1_000)]
        assert kinds.count(EventKind.DEAD) == 21
        assert Sample("tenure_messages_total", ("default-tasks", "broken", "dead"), 21) in worker.metrics()
        await asyncio.sleep(1_000)
        assert _named(await _findings(app)) == set()
        assert await _events(app, EventKind.FINDING_FIRED) == ["dead_letters@default-tasks"] * 2
        assert await _events(app, EventKind.FINDING_CLEARED) == ["dead_letters@default-tasks"]


async def test_a_worker_that_is_proven_dead_is_one_finding(app: Tenure, clock: VirtualClock) -> None:
    async with app, app.worker():
        await asyncio.sleep(200)
        counted = Statistics()
        counted.note_events([Event(EventKind.OWNER_RETIRED, clock.wall(), owner="one/1", data={"left": False})])
        assert Sample("tenure_workers_crashed_total", (), 1) in counted.facts.samples(str, str)
        await Tallying(counted, app.state.journal, app.state.wall, nonce="n", every_seconds=5.0).flush()
        await asyncio.sleep(60)
        assert _named(await _findings(app)) == {"workers_crashing"}
        assert await _events(app, EventKind.FINDING_FIRED) == ["workers_crashing"]
        assert (await TallyReader(app.broker, app.state).read(900)).queues() == []
        await asyncio.sleep(1_000)
        assert _named(await _findings(app)) == set()


async def test_work_without_a_worker_is_one_finding_for_who_looks_from_a_server(
    app: Tenure, clock: VirtualClock
) -> None:
    async with app:
        (alerting,) = app.alerting()
        await alerting.start()
        await asyncio.sleep(200)
        await app.tasks["quick"].bind(1).submit()
        await asyncio.sleep(900)
        assert _named(await _findings(app)) == {"workers_absent"}
        async with app.worker():
            await asyncio.sleep(60)
            assert _named(await _findings(app)) == set()
        await alerting.stop()


async def test_a_paused_queue_is_a_finding_after_a_day_and_nothing_else(app: Tenure, clock: VirtualClock) -> None:
    async with app:
        (alerting,) = app.alerting()
        await app.operate.pause("default-tasks")
        await app.tasks["quick"].bind(1).submit()
        await asyncio.sleep(23 * _HOUR)
        await _judge(alerting, rounds=40)
        assert _named(await _findings(app)) == set()
        await asyncio.sleep(1.1 * _HOUR)
        await _judge(alerting, rounds=40)
        assert _named(await _findings(app)) == {"queue_paused@default-tasks"}
        await app.operate.resume("default-tasks")
        await _judge(alerting, rounds=1)
        assert _named(await _findings(app)) == set()


async def _judge(alerting: Alerting, *, rounds: int) -> None:
    for _ in range(rounds):
        await asyncio.sleep(alerting.every_seconds)
        await alerting.judge_once()


async def test_a_purge_is_seen_with_who_it_was(app: Tenure, clock: VirtualClock) -> None:
    async with app, app.worker(queues=["other"]):
        await asyncio.sleep(200)
        await app.tasks["quick"].bind(1).submit()
        await app.operate.bound(by="alice").purge("default-tasks")
        await asyncio.sleep(30)
        found = await _findings(app)
        assert _named(found) == {"queue_cleared@default-tasks"}
        assert "alice" in found["queue_cleared@default-tasks"].evidence


async def test_of_two_processes_one_judges(app: Tenure, clock: VirtualClock) -> None:
    async with app:
        (first,), (second,) = app.alerting(), app.alerting()
        assert [change.state.alert for change in await first.judge_once()] == ["watchdog"]
        assert await second.judge_once() == []
        assert (await FindingStore(app.state).evaluator()).at == app.state.wall()


# -- people ----------------------------------------------------------------------------------------


async def _with_a_finding(app: Tenure) -> str:
    """Purge a queue, and judge that."""
    await app.tasks["quick"].bind(1).submit()
    await app.operate.purge("default-tasks")
    (alerting,) = app.alerting()
    await alerting.judge_once()
    return "queue_cleared@default-tasks"


async def test_people_see_acknowledge_and_silence_a_finding(app: Tenure, clock: VirtualClock) -> None:
    async with app:
        id = await _with_a_finding(app)
        found = await app.operate.findings()
        assert ([one.id for one in found.findings], found.open, found.is_judged) == ([id], 1, True)
        acked = await app.operate.bound(by="alice").ack_finding(id)
        assert (acked.acked_by, (await app.operate.findings()).open) == ("alice", 0)
        silenced = await app.operate.bound(by="bob").silence_finding(id, 60)
        assert silenced.silenced_until == app.state.wall() + 60
        await asyncio.sleep(61)
        assert (await app.operate.finding(id)).silenced_until is None
        kinds = [one.act.kind for one in await app.state.acts.read()]
        assert kinds[:2] == ["finding_silenced", "finding_acked"]
        with pytest.raises(UnknownFinding, match="queue_cleared@default-tasks"):
            await app.operate.ack_finding("queue_cleared")
        with pytest.raises(BadArgument, match="30 days"):
            await app.operate.silence_finding(id, 40 * 86_400)


async def test_who_sees_other_queues_only_sees_no_finding_of_this_one(app: Tenure, clock: VirtualClock) -> None:
    async with app:
        id = await _with_a_finding(app)
        other = app.operate.bound(by="acme", queues=["acme-*"])
        assert (await other.findings()).findings == ()
        with pytest.raises(UnknownFinding):
            await other.ack_finding(id)
        assert [one.id for one in (await app.operate.bound(by="me", queues=["default-*"]).findings()).findings] == [id]


# -- being told ------------------------------------------------------------------------------------


async def test_a_webhook_names_the_worst_queues_with_links(clock: VirtualClock) -> None:
    settings = Settings(alert_webhook="oncall", public_url="https://tenure.example.com", secret_key="k" * 32)
    app = Tenure("memory://", settings=settings, clock=clock)
    task = app.task(_nothing)
    async with app:
        for number in range(7):
            queue = f"q{number}"
            await app.submit_many([task.bind().having(queue=queue) for _ in range(number + 1)])
        (alerting,) = app.alerting()
        await alerting.judge_once()
        for _ in range(40):
            await asyncio.sleep(15)
            await alerting.judge_once()
        page = await app.broker.browse(Query(states=(MessageState.READY,), queues=("webhooks",)))
        payloads = [payload_of(envelope.decode(one.envelope)) for one in page.messages]
        bodies = [msgspec.json.decode(bytes(one.body)) for one in payloads if one.endpoint == "oncall"]
    assert [(body["type"], body["id"], body["severity"]) for body in bodies] == [
        ("finding.fired", "workers_absent", "page")
    ]
    (body,) = bodies
    assert [one["queue"] for one in body["worst_queues"]] == ["q6", "q5", "q4", "q3", "q2"]
    assert body["worst_queues"][0]["url"] == "https://tenure.example.com/queues/q6"
    assert body["url"] == "https://tenure.example.com/findings?finding=workers_absent"
    assert body["runbook_url"] == "https://tenure.example.com/runbooks/workers_absent"


async def test_a_missing_endpoint_for_alerts_is_logged_at_the_start(
    clock: VirtualClock, caplog: pytest.LogCaptureFixture
) -> None:
    app = Tenure("memory://", settings=Settings(alert_webhook="oncal", secret_key="k" * 32), clock=clock)
    app.task(_nothing)
    async with app, app.worker():
        await asyncio.sleep(1)
    assert "TENURE_ALERT_WEBHOOK names the endpoint 'oncal', which does not exist" in caplog.text
    caplog.clear()
    async with app:
        await app.operate.add_endpoint("oncal", "https://example.com/alerts")
        async with app.worker():
            await asyncio.sleep(1)
    assert "TENURE_ALERT_WEBHOOK" not in caplog.text


async def _nothing() -> None:
    """A task that does nothing."""


async def test_an_outage_of_the_store_is_kept_once_it_is_back(
    app: Tenure, clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app:
        (alerting,) = app.alerting()
        await alerting.judge_once()
        await asyncio.sleep(15)

        async def away(*_: object) -> bool:
            raise BrokerUnavailable("no answer")

        with monkeypatch.context() as patch:
            patch.setattr(app.state.board, "take_turn", away)
            for _ in range(4):
                with pytest.raises(BrokerUnavailable):
                    await alerting.judge_once()
                await asyncio.sleep(15)
        changes = await alerting.judge_once()
        assert [(change.kind.value, change.state.alert) for change in changes if change.spec.id != "watchdog"] == [
            ("fired", "store_away"), ("cleared", "store_away")
        ]  # fmt: skip
        (row,) = (await app.operate.findings()).findings
        assert (row.id, row.firing, row.cleared_at) == ("store_away", False, app.state.wall())
