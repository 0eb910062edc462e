"""The messages of clients, as the pieces of this part send them."""

import time

import msgspec

from tenure.message import Message, Outgoing, new_id


def message(client: str, task: str, body: msgspec.Raw) -> Outgoing:
    """A message for a client, to its queue."""
    wall = time.time()
    queue = f"{client}-tasks"
    return Outgoing(Message(id=new_id(wall), queue=queue, task=task, body=body, client=client, sent_at=wall))
