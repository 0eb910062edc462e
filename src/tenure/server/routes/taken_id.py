"""An id or key that belongs to a message of a queue which does not exist for the one who asks."""

from tenure.client.operations.access import Access


async def is_hidden(access: Access, id: str) -> bool:
    """Whether the stored message is in a queue that the caller does not see: then nothing was sent for them."""
    return not access.sees_every_queue and await access.record(id) is None
