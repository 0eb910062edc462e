"""The account as others use it: foreign messages, missing queues, wrong keys, the log, the number of calls."""

import os
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.conformance.azure_harness import AzureHarness
from tests.servers.azure import shared_azure

from tenure.adapters import azure
from tenure.adapters.azure import log
from tenure.adapters.azure.naming import POISON
from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.clock import SYSTEM_CLOCK
from tenure.envelope import decode
from tenure.errors import BadSetting, LoginRefused, StoreMissing
from tenure.event import Event, EventKind
from tenure.message import MessageState
from tenure.settlement import Ack, DeadLetter, Outcome
from tenure.testing.harness import BROKEN, QUEUE

DAY = 86_400.0


class LoggingHarness(AzureHarness):
    """With a log for people."""

    def __init__(self) -> None:
        """Of a service of its own."""
        self.service = f"s{os.urandom(4).hex()}"
        self.options = (f"log={self.service}",)
        super().__init__()

    async def files(self) -> dict[str, bytes]:
        """The log, by day and file."""
        container = self._store.clients.blob_service.get_container_client(log.CONTAINER)

        async def look() -> dict[str, bytes]:
            names = [name async for name in container.list_blob_names(name_starts_with=self.service)]
            return {name: await (await container.download_blob(name)).readall() for name in names}

        found: dict[str, bytes] = await self._store.call("looking", look)
        return found


@pytest.fixture
def harness() -> LoggingHarness:
    """In virtual time."""
    return LoggingHarness()


async def _put_foreign(harness: AzureHarness, text: str) -> None:
    await harness.lease(harness.stranger())  # the queue is there now
    client = harness._store.queue(QUEUE)
    await harness._store.call("sending", lambda: client.send_message(text, time_to_live=-1))


@pytest.mark.parametrize("text", ['{"task": "resize", "image": "a.png"}', "eyJhIjogMX0=", "x" * 65_535])
async def test_a_foreign_message_is_lent_and_dead_lettered_with_its_raw_bytes(harness: AzureHarness, text: str) -> None:
    await _put_foreign(harness, text)
    lease = await harness.lease_one(harness.stranger())
    assert lease.envelope == text.encode()
    (settlement,) = await harness.broker.dead_letter([DeadLetter(lease, BROKEN)])
    assert settlement.outcome == Outcome.DEAD
    client = harness._store.queue(QUEUE, POISON)
    (shown,) = await harness._store.call("looking", lambda: client.peek_messages(max_messages=5))
    assert shown.content == text
    assert (await harness.record(lease.id)).envelope == lease.envelope
    assert await harness.broker.redrive([lease.id]) == [lease.id]
    again = await harness.lease_one(harness.stranger())
    assert (again.id, again.envelope) == (lease.id, lease.envelope)
    (settlement,) = await harness.broker.ack([Ack(again)])
    assert settlement.outcome == Outcome.DELETED


async def test_messages_never_expire_by_themselves(harness: AzureHarness) -> None:
    message = await harness.put()
    await harness.advance(400 * DAY, sweeping=False)
    assert (await harness.lease_one(harness.stranger())).id == message.id


async def test_a_message_in_base64_is_one_of_ours(harness: AzureHarness) -> None:
    harness._store.options = msgspec.structs.replace(harness._store.options, encoding="base64")
    message = await harness.put(body={"to": "größe"})
    lease = await harness.lease_one(harness.stranger())
    assert decode(lease.envelope) == message


async def test_a_queue_that_is_missing_is_not_created_unless_asked(harness: AzureHarness) -> None:
    harness._store.options = msgspec.structs.replace(harness._store.options, create=False)
    with pytest.raises(StoreMissing, match="create=yes"):
        await harness.put()
    with pytest.raises(StoreMissing):
        await harness.lease(harness.stranger())


async def test_a_queue_with_a_name_against_the_rules_is_refused_and_nothing_is_stored(harness: AzureHarness) -> None:
    message = harness.message(queue="Not_A_Queue")
    with pytest.raises(BadSetting):
        await harness.send(message)
    assert await harness.state.records.get(message.id) is None


@pytest.mark.real_time
async def test_a_wrong_key_is_told_as_such_and_nothing_is_created() -> None:
    url = shared_azure().url("t1")
    options = msgspec.structs.replace(azure.read_options(url, urlsplit(url), {}), key="d3Jvbmc=")
    broker, _ = azure.connect(options, clock=SYSTEM_CLOCK)
    with pytest.raises(LoginRefused, match="connection string"):
        await broker.open()


async def test_the_log_has_a_line_for_each_message_that_ended_by_its_utc_day(harness: LoggingHarness) -> None:
    wall = harness.clock.wall()
    events = [Event(EventKind.COMPLETED, wall + n * DAY / 4, "mail", "deliver", f"m{n}", attempt=1) for n in range(6)]
    await harness.state.journal.append([*events, Event(EventKind.OWNER_JOINED, wall)])
    files = await harness.files()
    assert sorted(files) == [f"{harness.service}/2026-01-0{day}/processed.jsonl" for day in (1, 2)]
    lines = [msgspec.json.decode(line) for data in files.values() for line in data.splitlines()]
    assert sorted(line["message_id"] for line in lines) == [f"m{n}" for n in range(6)]
    assert {line["outcome"] for line in lines} == {"completed"}


async def test_the_log_of_a_day_goes_on_in_a_next_file_when_one_is_full(
    harness: LoggingHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [Event(EventKind.COMPLETED, harness.clock.wall(), "mail", "deliver", "m1")]
    await harness.state.journal.append(events)
    store: Any = harness._store
    real = store.call

    async def full(what: str, act: Any) -> Any:
        if "appending" in what and not harness.__dict__.setdefault("said", False):
            harness.__dict__["said"] = True
            from azure.core.exceptions import ResourceExistsError

            error = ResourceExistsError("full")
            error.error_code = "BlockCountExceedsLimit"  # type: ignore[attr-defined]
            raise error
        return await real(what, act)

    monkeypatch.setattr(store, "call", full)
    await harness.state.journal.append(events)
    assert sorted(name.rpartition("/")[2] for name in await harness.files()) == ["processed-1.jsonl", "processed.jsonl"]


async def test_a_log_whose_container_is_missing_is_not_begun_unless_asked(
    harness: LoggingHarness, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "CONTAINER", f"logs-{harness.service}")
    options = msgspec.structs.replace(harness._options, create=False)
    broker, state = azure.connect(options, clock=harness.clock, hook=harness._tell_time)
    await state.open()
    await state.journal.append([Event(EventKind.COMPLETED, harness.clock.wall(), "mail", "deliver", "m1")])
    assert "could not write 1 line to the processing log yet" in caplog.text
    assert "create=yes" in caplog.text
    await state.close()
    await harness.state.journal.append([Event(EventKind.COMPLETED, harness.clock.wall(), "mail", "deliver", "m2")])
    assert len(await harness.files()) == 1
    await broker.close()


async def test_days_of_the_log_are_kept_for_a_week(harness: LoggingHarness) -> None:
    for _ in range(10):
        await harness.state.journal.append([Event(EventKind.DEAD, harness.clock.wall(), "mail", "deliver", "m1")])
        await harness.advance(DAY, sweeping=False)
    await harness.state.journal.prune(DAY)
    days = [name.split("/")[1] for name in await harness.files()]
    assert (days[0], days[-1], len(days)) == ("2026-01-04", "2026-01-10", 7)


async def test_a_full_batch_takes_one_receive_one_delete_a_message_and_few_calls_of_the_table(
    harness: AzureHarness,
) -> None:
    await harness.put_many(32)
    await harness.sweep()
    owner = await harness.owner()
    calls = harness._store.clients.calls
    before = calls.copy()
    leases = await harness.broker.lease(harness.request(owner, 32))
    messages = [decode(lease.envelope) for lease in leases]
    requests = [ClaimRequest(Scope.of(one), one.id, owner.id, 30.0, digest(one)) for one in messages]
    answers = await harness.state.ledger.claim(requests)
    seals = [Seal(answer.token, b"1") for answer in answers if isinstance(answer, Fresh)]
    assert await harness.state.ledger.seal(seals) == [True] * 32
    settlements = await harness.broker.ack([Ack(lease, b"1") for lease in leases])
    assert {one.outcome for one in settlements} == {Outcome.DELETED}
    taken = calls - before
    assert taken["queue"] == 1 + 32  # 1.03 a message
    assert taken["table"] <= 8  # entered, asked twice, claimed, sealed, ended
    assert (await harness.record(leases[0].id)).state == MessageState.COMPLETED
