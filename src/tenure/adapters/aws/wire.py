"""How a message stands in its queue, and what others may read of it.

    wire=envelope   the body is the whole envelope (the usual form)
    wire=plain      the body is the payload alone, as workers that do not know Tenure read it; everything else is in
                    the attribute `tenure`

Both are read, whatever the URL says, so senders and workers may be switched in any order. A message keeps its form
over returns and redrives. One without either is not ours: its attributes are kept with it as they are.

Used by `sending.py`, `seen.py`, `lending.py` and `operating.py`.
"""

import base64
from collections.abc import Mapping
from typing import Any

import msgspec

from tenure import envelope
from tenure.message import Message

ENVELOPE, PLAIN = "envelope", "plain"
#: The attributes that are ours: the logical id, and everything but the payload.
ID, HEAD = "tenure-id", "tenure"


class Attribute(msgspec.Struct, frozen=True, array_like=True):
    """A message attribute as SQS knows it; a binary value as base64."""

    type: str
    value: str

    @property
    def is_binary(self) -> bool:
        """Whether its value is bytes."""
        return self.type.startswith("Binary")


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


def size(id: str, body: str, head: str, attributes: Attributes) -> int:
    """Bytes of all of it, as SQS counts: names, types and values."""
    own = len(ID) + len(id.encode()) + (len(HEAD) + len(head.encode()) if head else 0) + 2 * len("String")
    others = sum(len(name) + len(one.type) + len(one.value) for name, one in attributes.items())
    return len(body.encode()) + own + others


def written(attributes: Attributes) -> dict[str, dict[str, Any]]:
    """As SQS takes them."""
    return {
        name: {"DataType": one.type, "BinaryValue": base64.b64decode(one.value)}
        if one.is_binary
        else {"DataType": one.type, "StringValue": one.value}
        for name, one in attributes.items()
    }


def read(said: Mapping[str, Mapping[str, Any]]) -> dict[str, Attribute]:
    """Those of a message that was received."""
    found = {}
    for name, one in said.items():
        kind = str(one.get("DataType", "String"))
        if kind.startswith("Binary"):
            found[name] = Attribute(kind, base64.b64encode(one.get("BinaryValue", b"")).decode())
        else:
            found[name] = Attribute(kind, str(one.get("StringValue", "")))
    return found


def dumped(attributes: Attributes) -> str:
    """To be kept beside a dead letter; empty: there are none."""
    return msgspec.json.encode(attributes).decode() if attributes else ""


def loaded(text: str) -> dict[str, Attribute]:
    """What was kept."""
    return _attributes(text) if text else {}
