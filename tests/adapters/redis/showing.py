"""Every message of one queue and state, for tests that look at what became of something."""

from tenure.broker import Broker
from tenure.client.browse_all import browse_all
from tenure.message import MessageState
from tenure.query import Browsed, Query


async def shown_in(broker: Broker, queue: str, state: MessageState) -> list[Browsed]:
    """In the order of the state."""
    return [one async for one in browse_all(broker, Query(states=(state,), queues=(queue,)))]
