"""The part of a client's quota that senders keep, as a document of the store: by the queue of the client. Pure.

The other part, how many run and start, is a limit of the client's queue (`rules/operator_limits.py`): workers read it.
Written by `client/operator.py`; read by `client/send_quotas.py` and `client/operations/client_quota.py`.
"""

import msgspec

from tenure.quota import Quota

#: The kind of the documents; the name of each is that of the queue.
KIND = "quota"

_encode = msgspec.json.Encoder().encode


class SendQuota(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an operator set for one client, when, and who it was."""

    waiting: int | None = None
    payload_bytes: int | None = None
    at: float = 0.0
    by: str = ""

    @property
    def quota(self) -> Quota:
        """As a quota."""
        return Quota(waiting=self.waiting, payload_bytes=self.payload_bytes)


_decode = msgspec.json.Decoder(SendQuota).decode


def written(quota: SendQuota) -> bytes:
    """The document."""
    return _encode(quota)


def read(data: bytes) -> SendQuota | None:
    """What a document says. None: it cannot be read."""
    try:
        return _decode(data)
    except msgspec.DecodeError:
        return None
