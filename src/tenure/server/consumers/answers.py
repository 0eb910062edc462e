"""Answers: what a lease request was answered with, kept in the store for a repeat that comes to another server.

Only where a lease alone does not say it all: a claim is proved by its fence, and on SQS the body is known to the
process that received it. Elsewhere, and for a client that sends no request id, nothing is written. One small document
a request, gone when its leases end; an answer that is too large for one leaves out the bodies, and then itself.
"""

import logging
from collections.abc import Sequence

import msgspec

from tenure import envelope
from tenure.app import Tenure
from tenure.errors import BodyUndecodable, TenureError
from tenure.key_value import MOST_BYTES, name_of
from tenure.lease import Lease
from tenure.server.consumers import lease_token
from tenure.server.consumers.lease_token import LeaseName
from tenure.server.consumers.remote_delivery import RemoteDelivery

logger = logging.getLogger("tenure.consumers")

KIND = "lease.answer"


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """One lease of an answer."""

    name: LeaseName
    #: As it was sent. Empty: it did not fit.
    envelope: bytes = b""


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[_Kept]).decode


class Answers:
    """The answers of one store."""

    def __init__(self, app: Tenure) -> None:
        """Keep them in the store of `app`."""
        self._app = app

    async def keep(self, owner: str, request_id: str, found: Sequence[RemoteDelivery]) -> None:
        """Keep an answer, if a repeat at another server would need it. One that cannot be kept is left out."""
        if all(one.token is None for one in found):
            return
        wall = self._app.state.wall()
        data = _fitting([
            _Kept(lease_token.name_of(one.lease, one.message, one.token, wall), one.lease.envelope) for one in found
        ])  # fmt: skip
        if data is None:
            return
        values, name = self._app.state.key_values, _name(owner, request_id)
        until = wall + max(one.lease.seconds for one in found)
        try:
            if await values.put(KIND, name, data, expect=None, expires_at=until) is None:
                before = await values.get(KIND, name)
                known = None if before is None else before.version
                await values.put(KIND, name, data, expect=known, expires_at=until)
        except TenureError as error:
            logger.debug("the answer of request %s was not kept: %s", request_id, error)

    async def deliveries(self, owner: str, request_id: str, held: Sequence[Lease]) -> list[RemoteDelivery]:
        """Those of the leases that another server answered with, as it knew them, and whose claims stand."""
        value = await self._app.state.key_values.get(KIND, _name(owner, request_id))
        kept = {} if value is None else {one.name.place: one for one in _decode(value.data)}
        found = []
        for lease in held:
            known = kept.get((lease.id, lease.fence))
            delivery = None if known is None else self._delivery(lease, known)
            if delivery is not None:
                found.append(delivery)
        tokens = [one.token for one in found if one.token is not None]
        stands = dict(zip(tokens, await self._app.state.ledger.renew(tokens), strict=True)) if tokens else {}
        return [one for one in found if one.token is None or stands[one.token]]

    def _delivery(self, lease: Lease, kept: _Kept) -> RemoteDelivery | None:
        """None: its body is not known here."""
        raw = lease.envelope or kept.envelope
        try:
            message = envelope.decode(raw)
        except BodyUndecodable:  # also what Tenure did not send: only its first server has its route's answer
            return None
        started = self._app.clock.monotonic() - max(0.0, self._app.state.wall() - kept.name.at)
        lease = msgspec.structs.replace(lease, envelope=raw)
        return RemoteDelivery(lease, message, started=started, token=kept.name.token)


def _name(owner: str, request_id: str) -> str:
    return name_of(f"{owner} {request_id}")


def _fitting(kept: list[_Kept]) -> bytes | None:
    """The answer as it is kept, with the bodies if they fit. None: not even without."""
    for some in (kept, [msgspec.structs.replace(one, envelope=b"") for one in kept]):
        data = _encode(some)
        if len(data) <= MOST_BYTES:
            return data
    return None
