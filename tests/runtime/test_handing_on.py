"""Hand-offs are made ready to be sent: an outage of the store repeats no run."""

import msgspec

from tenure.errors import BrokerUnavailable
from tenure.message import Message, Outgoing
from tenure.runtime.ownership.blob_fetch import BlobFetch
from tenure.runtime.path.handing_on import HandingOn
from tenure.testing.virtual import VirtualClock
from tenure.verdict import Completed


async def test_a_webhook_of_a_hand_off_is_looked_up_once_the_store_is_back() -> None:
    clock, tries = VirtualClock(), list[Outgoing]()
    message = Message(id="a", queue="mail", task="deliver", body=msgspec.Raw(b"{}"), announce=("webhook:orders",))

    async def resolve(out: Outgoing) -> Outgoing:
        tries.append(out)
        if len(tries) < 4:
            raise BrokerUnavailable("away")
        return out

    handing_on = HandingOn(BlobFetch(None, None, clock), clock, resolve)
    verdict = Completed(b"1", (Outgoing(msgspec.structs.replace(message, announce=())), Outgoing(message)))
    assert await handing_on.prepare(verdict) == verdict
    assert [out.message for out in tries] == [message] * 4
