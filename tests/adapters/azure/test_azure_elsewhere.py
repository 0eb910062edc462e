"""The state in a Redis (`state=redis://…`): what a message costs there."""

from typing import Any

import pytest
from redis import Redis
from tests.conformance.azure_harness import RedisStateHarness
from tests.servers.shared import shared

from tenure.claim import ClaimRequest, Fresh, Scope, Seal, digest
from tenure.envelope import decode
from tenure.settlement import Ack, Outcome


@pytest.fixture
def harness() -> RedisStateHarness:
    """In virtual time."""
    return RedisStateHarness()


async def test_a_message_from_send_to_ack_takes_few_commands(harness: RedisStateHarness) -> None:
    """It was 41 of them, most inside of scripts that changed one row each."""
    client: Any = Redis(port=shared("valkey9").port)

    def commands() -> int:
        return int(client.info("stats")["total_commands_processed"])

    owner = await harness.owner()
    await harness.sweep()
    before = commands()
    await harness.put_many(32)
    leases = await harness.broker.lease(harness.request(owner, 32))
    messages = [decode(lease.envelope) for lease in leases]
    requests = [ClaimRequest(Scope.of(one), one.id, owner.id, 30.0, digest(one)) for one in messages]
    answers = await harness.state.ledger.claim(requests)
    seals = [Seal(answer.token, b"1") for answer in answers if isinstance(answer, Fresh)]
    assert await harness.state.ledger.seal(seals) == [True] * 32
    settlements = await harness.broker.ack([Ack(lease, b"1") for lease in leases])
    assert {one.outcome for one in settlements} == {Outcome.DELETED}
    taken = commands() - before
    client.close()
    assert taken <= 2 * 32
