"""Asking: what a message asks to be announced, as it follows the message's record (`lua/announce.lua`).

Short, because a hash with a value of more than 64 bytes takes three times the memory.
"""

import msgspec

from tenure.adapters.redis import foreign_keys
from tenure.announcement import AnnounceRequest

#: Stands between a record and what its message asks for.
ASKS = "\x1f"


class _Asked(msgspec.Struct, frozen=True, array_like=True):
    targets: tuple[str, ...]
    client: str | None = None
    correlation_id: str | None = None


_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(_Asked)


def request_text(request: AnnounceRequest | None, generation: int) -> str:
    """What a message of this generation asks for. Empty: nothing."""
    if request is None:
        return ""
    asked = _Asked(request.targets, request.client, request.correlation_id)
    return f"{generation}|{_encode(asked).decode()}"


def read_request(raw: bytes, where: str) -> AnnounceRequest | None:
    """The request, as an announcement has it: without the generation. None: it was not written by Tenure."""
    asked: _Asked | None = foreign_keys.read(_decoder, raw, where)
    return None if asked is None else AnnounceRequest(asked.targets, asked.client, asked.correlation_id)
