"""An id or key that belongs to a message of a queue which does not exist for the one who asks."""

from tenure.client.operations.access import Access


async def is_hidden(access: Access, id: str) -> bool:
    """Whether the message that stands for a new one is none of theirs: then the new one was not sent for them."""
    return not access.sees_every_queue and await access.record(id) is None
