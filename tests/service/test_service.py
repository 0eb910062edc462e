"""The task service: four verbs, the words of its status, and its wire format both ways."""

import asyncio
import base64
import uuid

import msgspec
import pytest

from tenure import Context, MessageNotFound, Tenure
from tenure.envelope import decode, encode, join, split
from tenure.errors import BadArgument, PayloadInvalid, UnknownTask, WebhookRefused
from tenure.foreign import Foreign, read_task
from tenure.message import Counters, Message, MessageState, Outgoing
from tenure.record import Record
from tenure.service import QueueService, SyncQueueService
from tenure.service.status import TaskWord, word_of
from tenure.service.wire import readable
from tenure.testing.virtual import VirtualClock

ONCE, NEVER = Counters(deliveries=1, attempts=1), Counters()
S = MessageState


@pytest.mark.parametrize(
    ("state", "counters", "word"),
    [
        (S.READY, NEVER, "queued"),
        (S.DELAYED, NEVER, "queued"),
        (S.READY, Counters(deliveries=1), "queued"),  # given back: no attempt was made
        (S.LEASED, NEVER, "running"),
        (S.LEASED, ONCE, "running"),
        (S.DELAYED, ONCE, "retrying"),
        (S.READY, ONCE, "retrying"),
        (S.READY, Counters(deliveries=1, crashes=1), "retrying"),
        (S.READY, Counters(deliveries=1, lost=1), "retrying"),
        (S.COMPLETED, ONCE, "completed"),
        (S.DEAD, ONCE, "failed"),
        (S.CANCELLED, ONCE, "cancelled"),
    ],
)
def test_the_words_of_a_status(state: MessageState, counters: Counters, word: str) -> None:
    assert word_of(Record(id="m", queue="q", task="t", state=state, counters=counters)) == TaskWord(word)


def service_on(clock: VirtualClock, **options: str) -> QueueService:
    app = Tenure("memory://", clock=clock, **options)  # type: ignore[arg-type]

    @app.task(max_attempts=2, retry_delay=10.0)
    async def ingest(ctx: Context, filename: str, document_set: str = "", *, fails: bool = False) -> dict[str, str]:
        ctx.progress(0.5, "half way")
        await asyncio.sleep(5)
        if fails:
            raise OSError("no such document")
        return {"indexed": filename}

    return QueueService(app)


async def test_a_task_from_its_submit_to_its_result(virtual_clock: VirtualClock) -> None:
    async with service_on(virtual_clock) as service:
        id = await service.submit_task("ingest", {"filename": "a.pdf", "document_set": "southhaven"})
        assert str(uuid.UUID(id)) == id
        status = await service.status(id)
        assert (status.task_id, status.task_type, status.status, status.attempt) == (id, "ingest", "queued", 0)
        async with service.app.worker():
            await asyncio.sleep(3)
            status = await service.status(id)
            assert (status.status, status.attempt, status.progress, status.note) == ("running", 1, 0.5, "half way")
            assert await service.result(id, timeout=30) == {"indexed": "a.pdf"}
        status = await service.status(id)
        assert (status.status, status.error) == ("completed", None)
        assert status.finished_at is not None


async def test_a_failure_is_retrying_and_then_failed(virtual_clock: VirtualClock) -> None:
    async with service_on(virtual_clock) as service, service.app.worker():
        id = await service.submit_task("ingest", {"filename": "a.pdf", "fails": True})
        met = [one.status async for one in service.updates(id)]
        assert [word for word, before in zip(met, [None, *met], strict=False) if word != before][-4:] == [
            "running", "retrying", "running", "failed",
        ]  # fmt: skip
        status = await service.status(id)
        assert status.error is not None
        assert "no such document" in status.error


async def test_a_task_is_cancelled_and_an_id_is_submitted_once(virtual_clock: VirtualClock) -> None:
    async with service_on(virtual_clock) as service:
        id = await service.submit_task("ingest", {"filename": "a.pdf"}, task_id="t-1", delay=60)
        assert await service.submit_task("ingest", {"filename": "a.pdf"}, task_id="t-1") == id == "t-1"
        assert (await service.status(id)).status == "queued"
        assert await service.cancel(id)
        assert (await service.status(id)).status == "cancelled"
        assert not await service.cancel(id)


async def test_what_cannot_be_submitted_is_refused(virtual_clock: VirtualClock) -> None:
    async with service_on(virtual_clock) as service:
        with pytest.raises(UnknownTask):
            await service.submit_task("inject", {"filename": "a.pdf"})
        with pytest.raises(PayloadInvalid):
            await service.submit_task("ingest", {"filename": 7})
        with pytest.raises(WebhookRefused):
            await service.submit_task("ingest", {"filename": "a.pdf"}, webhook_url="https://evil.example.com/x")
        with pytest.raises(MessageNotFound, match="no task"):
            await service.status("unknown")
        with pytest.raises(MessageNotFound, match="no task"):
            await anext(service.updates("unknown"))


async def test_a_frontend_needs_no_tasks(virtual_clock: VirtualClock) -> None:
    frontend = QueueService(Tenure("memory://shared-service", clock=virtual_clock, client="southhaven"))
    async with frontend:
        id = await frontend.submit_task("ingest", {"filename": "a.pdf"})
        other = await frontend.submit_task("ingest", {"filename": "b.pdf"}, client="demo")
        records = [await frontend.app.record(one) for one in (id, other)]
        assert [one and one.queue for one in records] == ["southhaven-tasks", "demo-tasks"]
    of_another = QueueService(Tenure("memory://shared-service-2", clock=virtual_clock), client="demo")
    async with of_another:
        record = await of_another.app.record(await of_another.submit_task("ingest"))
        assert record is not None
        assert record.queue == "demo-tasks"


async def test_a_namespace_has_task_ids_of_its_own(virtual_clock: VirtualClock) -> None:
    async with service_on(virtual_clock, namespace="shop") as service, service.app.worker():
        assert await service.submit_task("ingest", {"filename": "a.pdf"}, task_id="t-1") == "t-1"
        assert await service.result("t-1", timeout=60) == {"indexed": "a.pdf"}
        assert (await service.status("t-1")).task_id == "t-1"


@pytest.mark.real_time
async def test_code_that_is_not_async_has_the_same_verbs() -> None:
    app = Tenure("memory://sync-service")

    @app.task
    async def summarize(text: str) -> str:
        return text[:3]

    def use(service: SyncQueueService) -> tuple[str, object, bool]:
        id = service.submit_task("summarize", {"text": "abcdef"})
        result = service.result(id, timeout=60)
        accepted = service.accept('{"task_type": "summarize", "payload": {"text": "xyzzy"}}')
        assert service.result(accepted, timeout=60) == "xyz"
        assert [one.status for one in service.updates(accepted)] == ["completed"]
        told = service.status(id).status, result, service.cancel(id)
        service.close()
        return told

    async with app, app.worker():
        assert await asyncio.to_thread(use, QueueService(app).sync) == ("completed", "abc", False)


# --- the wire ---------------------------------------------------------------------------------------------

PAYLOAD = b'{"filename":"document.pdf","document_set":"southhaven"}'


def sent() -> Outgoing:
    message = Message(id="t-1", queue="southhaven-tasks", task="ingest", body=msgspec.Raw(PAYLOAD), sent_at=1.0)
    return Outgoing(message)


def test_what_is_sent_is_read_by_plain_consumers_and_by_tenure() -> None:
    out = readable(sent(), "t-1", "https://api.example.com/internal/notify")
    raw = encode(out.message)
    assert decode(raw) == sent().message
    told = msgspec.json.decode(raw)
    assert {name: told[name] for name in ("task_id", "task_type", "payload", "webhook_url")} == {
        "task_id": "t-1", "task_type": "ingest", "payload": msgspec.json.decode(PAYLOAD),
        "webhook_url": "https://api.example.com/internal/notify",
    }  # fmt: skip
    head, body = split(out.message)
    assert body == PAYLOAD
    assert b"payload" not in head
    assert decode(join(head, body)) == sent().message


def test_what_plain_producers_send_is_read_bare_and_within_base64() -> None:
    raw = b'{"task_id": "t-1", "task_type": "ingest", "payload": %s, "webhook_url": null}' % PAYLOAD
    for one in (raw, base64.b64encode(raw)):
        task = read_task(Foreign(queue="southhaven-tasks", id="x", raw=one))
        assert task is not None
        assert (task.id, task.type, task.payload) == ("t-1", "ingest", msgspec.json.decode(PAYLOAD))


async def test_a_plain_task_is_accepted_once(virtual_clock: VirtualClock) -> None:
    async with service_on(virtual_clock) as service, service.app.worker():
        raw = msgspec.json.encode({"task_id": "t-1", "task_type": "ingest", "payload": {"filename": "a.pdf"}})
        for one in (raw, raw.decode(), base64.b64encode(raw)):
            assert await service.accept(one) == "t-1"
        assert await service.result("t-1", timeout=60) == {"indexed": "a.pdf"}
        for bad in (b"nonsense", b"[]", b'{"payload": {}}', b'{"task_type": "ingest", "payload": 7}'):
            with pytest.raises(BadArgument, match="no task"):
                await service.accept(bad)


async def test_an_app_that_says_what_is_foreign_decides(virtual_clock: VirtualClock) -> None:
    app = Tenure("memory://", clock=virtual_clock)

    @app.on_foreign
    def route(_: Foreign) -> None:
        return None

    QueueService(app)
    QueueService(app)
    assert app._router.has_default
