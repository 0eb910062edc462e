"""The client of a message that is sent over HTTP: the one that was named, else the one whose queue it goes to.

A token that is bound to queues names only clients whose queues it sees: by the client of a message it is decided which
webhook endpoints may be called for it. The answer does not depend on which clients there are.
"""

from tenure.client.operations.access import Access
from tenure.errors import UnknownQueue
from tenure.rules.client_queue import check_client, client_of_queue, queue_of_client


def sending_client(access: Access, given: str | None, queue: str) -> str:
    """The client of a message for `queue`. Raises `UnknownQueue` for one that is not there for this access."""
    if given is None:
        return client_of_queue(queue) or access.registry.client
    if not access.sees(queue_of_client(check_client(given), access.namespace)):
        msg = f"no client {given!r} is there for this access; nothing was sent"
        raise UnknownQueue(msg)
    return given
