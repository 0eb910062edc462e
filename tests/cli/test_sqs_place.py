"""A place on SQS: its dead letters are kept in the state; what waits cannot be listed, and that is said."""

import asyncio
import os
from collections.abc import Iterator

import boto3  # type: ignore[import-untyped]
import msgspec
import pytest
from tests.servers.aws import shared_aws

from tenure import Tenure
from tenure.broker import BrokerTraits
from tenure.clock import SYSTEM_CLOCK
from tenure.errors import BrokerUnavailable
from tenure.lease import LeaseRequest
from tenure.message import Message, MessageState, Outgoing
from tenure.settlement import DeadLetter
from tenure.verdict import Reason

from .conftest import Run, answer

QUEUE = "default-tasks"


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Queues and a table that nobody else has."""
    for name, value in {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}.items():
        monkeypatch.setenv(name, value)
    name, server = f"t{os.urandom(6).hex()}", shared_aws("ministack").url
    yield f"sqs://eu-west-1?endpoint={server}&prefix={name}-&table={name}&create=yes"
    words = {"region_name": "eu-west-1", "endpoint_url": server}
    sqs = boto3.client("sqs", **words)
    for queue in sqs.list_queues(QueueNamePrefix=name).get("QueueUrls", ()):
        sqs.delete_queue(QueueUrl=queue)
    boto3.client("dynamodb", **words).delete_table(TableName=name)


@pytest.fixture
def dead_letters(tenure: Run, url: str) -> list[str]:
    """Three dead letters, and one message that waits."""
    asyncio.run(_fill(url))
    return ["a", "b", "c"]


async def _fill(url: str) -> None:
    async with Tenure(url) as app:
        for id, task in (("a", "resize"), ("b", "resize"), ("c", "nap")):
            await app.send([_outgoing(id, task)])
            (lease,) = await app.broker.lease(LeaseRequest("me/1", id, (QUEUE,), 1, 30.0))
            code = "max_attempts" if id == "b" else "rejected"
            await app.broker.dead_letter([DeadLetter(lease, Reason(code, "no such image"))])
        await app.send([_outgoing("waits", "nap")])


def _outgoing(id: str, task: str) -> Outgoing:
    body = msgspec.Raw(b'{"n":1}')
    return Outgoing(Message(id=id, queue=QUEUE, task=task, body=body, sent_at=SYSTEM_CLOCK.wall()))


def _left(tenure: Run, url: str) -> list[str]:
    return [message["id"] for message in answer(tenure("dead", "list", url, "--json"))["messages"]]


def test_dead_letters_are_listed_redriven_and_deleted(tenure: Run, url: str, dead_letters: list[str]) -> None:
    shown = tenure("dead", "list", url).stdout
    assert "3 dead letters: 2 rejected, 1 max_attempts" in shown
    assert _left(tenure, url) == dead_letters
    dry = tenure("dead", "redrive", url, "--task", "resize", "--since", "1h", "--dry-run").stdout
    assert dry == "Would redrive 2 dead letters: 1 resize (rejected), 1 resize (max_attempts)\n  a\n  b\n"
    assert _left(tenure, url) == dead_letters
    back = answer(tenure("dead", "redrive", url, "--reason", "rejected", "--limit", "1", "--yes", "--json"))
    assert (back["redriven"], _left(tenure, url)) == (["a"], ["b", "c"])
    gone = answer(tenure("dead", "delete", url, "b", "--json"))
    assert (gone["deleted"], _left(tenure, url)) == (["b"], ["c"])
    (row,) = answer(tenure("queues", url, "--json"))["queues"]
    assert (row["ready"], row["leased"], row["dead"], row["estimated"]) == (2, 0, 1, True)
    assert "redriven" in tenure("show", url, "a").stdout


def test_what_cannot_be_listed_is_said_with_what_to_do_instead(tenure: Run, url: str, dead_letters: list[str]) -> None:
    shown = tenure("messages", url).stdout
    assert "this broker lists no ready or delayed messages" in shown
    assert "tenure queues counts them, and tenure show ID shows one" in " ".join(shown.split())
    document = answer(tenure("messages", url, "--json"))
    assert [message["id"] for message in document["messages"]] == dead_letters
    assert document["hidden"] == ["ready", "delayed"]
    for words in (("messages", url, "--state", "ready"), ("purge", url, QUEUE, "--yes")):
        result = tenure(*words)
        assert result.exit_code == 2
        assert result.stderr.startswith("error[not_browsable]: this broker lists no ")
    ended = tenure("messages", url, "--state", "completed").stderr
    assert "lists no completed messages but by reading its whole table" in ended
    assert "ready" in tenure("show", url, "waits").stdout
    purged = tenure("purge", url, QUEUE, "--state", "dead", "--yes")
    assert "Purged: 3" in purged.stdout, purged.stderr


def test_a_redrive_that_the_broker_breaks_off_goes_on_when_it_is_said_again(
    tenure: Run, url: str, dead_letters: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tenure.adapters.aws.sqs import SqsQueue

    whole, told = SqsQueue.send, []

    async def broken(self: SqsQueue, parcels: list[object]) -> list[str]:
        told.append(parcels)
        if len(told) > 1:
            raise BrokerUnavailable("the line is down")
        return await whole(self, parcels)  # type: ignore[arg-type]

    monkeypatch.setattr(SqsQueue, "send", broken)
    result = tenure("dead", "redrive", url, "--all", "--yes", "--rate", "4/s")
    assert result.exit_code == 1
    assert "Stopped: redriven 1 of 3; these stay redriven; run the same command again for the rest." in result.stderr
    assert "error[broker_unavailable]" in result.stderr
    # The second one had begun to move: it is a dead letter still, with its reason.
    assert _left(tenure, url) == ["b", "c"]
    assert "max_attempts: no such image" in tenure("dead", "list", url).stdout
    monkeypatch.setattr(SqsQueue, "send", whole)
    result = tenure("dead", "redrive", url, "--all", "--yes")
    assert "Redriven: 2" in result.stdout
    assert _left(tenure, url) == []
    assert sorted(asyncio.run(_lent(url))) == ["a", "b", "c", "waits"]


async def _lent(url: str) -> list[str]:
    found: list[str] = []
    async with Tenure(url) as app:
        traits: BrokerTraits = app.broker.traits
        assert traits.browsable == {MessageState.DEAD, MessageState.LEASED}
        while leases := await app.broker.lease(LeaseRequest("me/1", os.urandom(4).hex(), (QUEUE,), 10, 30.0)):
            found += [lease.id for lease in leases]
    return found
