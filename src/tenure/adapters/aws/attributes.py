"""The attributes of an SQS message: two that are ours, and those of other people.

The id and, in the plain form (`rowstore/wire.py`), everything but the payload stand in attributes beside the body.
Used by `sqs.py`.
"""

import base64
from collections.abc import Mapping
from typing import Any

from tenure.delivery_queue import Attribute

#: The attributes that are ours: the logical id, and everything but the payload.
ID, HEAD = "tenure-id", "tenure"

Attributes = Mapping[str, Attribute]


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
