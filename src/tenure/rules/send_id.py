"""The send id: the same for every delivery of one send, another for every new send of an id or key.

An id and a key are remembered for a window after the message has ended. Within it a repeated send stores nothing, and
the message that was stored first says when it was sent. After the window the same id or key is a new send, with another
moment. So the id and that moment name one send:

    one send, delivered again after a crash, a retry or a lapsed lease      the same
    the same id sent again within the window                                the same: the first one is run
    another message under a key that is not done yet (SQS, Azure)           the same: that of the key's first message
    the id or the key sent again after the window                           another
    the key sent again after its message died or was cancelled              another
    a redrive                                                               the same; the generation tells it apart

Used by `tasks/once.py` for the row of an effect, and by `runtime/handoff.py` for the ids of hand-offs.
"""


def send_id(id: str, sent_at: float) -> str:
    """The name of one send of message `id`. Empty: the sender did not say when, so two sends look alike."""
    return f"{id}@{sent_at!r}" if sent_at else ""
