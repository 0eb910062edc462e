"""How a message stands in its queue, and what others may read of it.

    wire=envelope   the body is the whole envelope (the usual form)
    wire=plain      the body is the payload alone, as workers that do not know Tenure read it; everything else is
                    beside it (on SQS in the attribute `tenure`)

Both are read, whatever the URL says, so senders and workers may be switched in any order. A message keeps its form
over returns and redrives. One without either is not ours: its attributes are kept with it as they are.

Used by `sending.py`, `seen_copy.py`, `lending.py` and `operating.py`.
"""

from collections.abc import Mapping

import msgspec

from tenure import envelope
from tenure.delivery_queue import Attribute
from tenure.message import Message

ENVELOPE, PLAIN = "envelope", "plain"
Attributes = Mapping[str, Attribute]

_attributes = msgspec.json.Decoder(dict[str, Attribute]).decode


def pack(message: Message, wire: str) -> tuple[str, str]:
    """The body, and what goes into the attribute beside it (empty: nothing)."""
    if wire != PLAIN:
        return envelope.encode(message).decode(), ""
    head, body = envelope.split(message)
    return body.decode(), head.decode()


def unpack(body: str, head: str) -> bytes:
    """The envelope, whatever its form; or what lies there, if it is not ours."""
    return body.encode() if not head else envelope.join(head.encode(), body.encode())


def dumped(attributes: Attributes) -> str:
    """To be kept beside a dead letter; empty: there are none."""
    return msgspec.json.encode(attributes).decode() if attributes else ""


def loaded(text: str) -> dict[str, Attribute]:
    """What was kept."""
    return _attributes(text) if text else {}
