"""Signatures by Standard Webhooks: the request proves who sent it, and when.

    webhook-id         the same for every attempt: a receiver that has seen it ignores the request
    webhook-timestamp  Unix seconds of this attempt
    webhook-signature  `v1,` and the HMAC-SHA256 of id, timestamp and body; while a secret is rotated, one for each

Pure but for the clock. `verify` is for receivers. Used by `deliver.py`.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import SecretUnreadable, SignatureExpired, SignatureInvalid

PREFIX = "whsec_"
ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"
#: A request that is older, or from further in the future, is refused.
TOLERANCE_SECONDS = 300.0
#: A secret's bytes; the bounds of Standard Webhooks.
LEAST_KEY, MOST_KEY = 24, 64


class Webhook(msgspec.Struct, frozen=True):
    """A request that was verified."""

    #: The same for every attempt to deliver this: store it, and ignore a request whose id you have.
    id: str
    #: When this attempt was made, in Unix seconds.
    sent_at: int
    #: The body, decoded: `task_id`, `status`, `result`, `error`, `generation`, `ended_at`.
    body: Any


def key_of(secret: str) -> bytes:
    """The key in a secret's text. Raises `SecretUnreadable`."""
    text = secret.strip()
    try:
        key = base64.b64decode(text.removeprefix(PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not text.startswith(PREFIX) or not LEAST_KEY <= len(key) <= MOST_KEY:
        msg = f"a webhook secret is {PREFIX} and base64 of {LEAST_KEY} to {MOST_KEY} bytes; this one is not"
        raise SecretUnreadable(msg)
    return key


def headers_for(id: str, timestamp: int, payload: bytes, keys: Sequence[bytes]) -> dict[str, str]:
    """The three headers, with a signature by each key."""
    signatures = " ".join(_signature(id, str(timestamp), payload, key) for key in keys)
    return {ID: id, TIMESTAMP: str(timestamp), SIGNATURE: signatures}


def verify(
    payload: bytes | str,
    headers: Mapping[str, str],
    secret: str | Sequence[str],
    tolerance: float = TOLERANCE_SECONDS,
    *,
    clock: Clock = SYSTEM_CLOCK,
) -> Webhook:
    """Check that a request is from a holder of the secret, is recent and unchanged; return it decoded.

    - `payload`: The body exactly as it came, not decoded and encoded again.
    - `headers`: The request's headers; upper or lower case.
    - `secret`: The endpoint's secret, `whsec_…`; or several, while it is rotated.
    - `tolerance`: By how many seconds the sender's clock may differ from this one.

    Raises `SignatureInvalid` or `SignatureExpired`; both are a `WebhookError`. Answer 401 then.
    """
    raw = payload.encode() if isinstance(payload, str) else payload
    own = {name.lower(): value for name, value in headers.items()}
    id, timestamp, signatures = own.get(ID, ""), own.get(TIMESTAMP, ""), own.get(SIGNATURE, "")
    if not (id and timestamp and signatures):
        missing = ", ".join(name for name in (ID, TIMESTAMP, SIGNATURE) if not own.get(name))
        msg = f"the request is not signed: it has no header {missing}; do not act on it"
        raise SignatureInvalid(msg)
    if not (timestamp.isascii() and timestamp.isdigit()):
        msg = f"the request's {TIMESTAMP} is no number; do not act on it"
        raise SignatureInvalid(msg)
    # Every signature is compared with every secret, so that how long it takes says nothing.
    given = [one.encode() for one in signatures.split()]
    keys = [key_of(one) for one in ([secret] if isinstance(secret, str) else secret)]
    made = [_signature(id, timestamp, raw, key).encode() for key in keys]
    if not sum(hmac.compare_digest(one, own) for one in given for own in made):
        msg = "no signature of the request is by this secret: it is another one's, or the body was changed"
        raise SignatureInvalid(msg)
    ahead = int(timestamp) - clock.wall()
    if abs(ahead) > tolerance:
        when = "in the future" if ahead > 0 else "ago"
        msg = f"the request was signed {abs(ahead):.0f} s {when}, more than the {tolerance:g} s that are allowed"
        raise SignatureExpired(msg)
    try:
        body = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        msg = f"the request is signed, but its body is no JSON: {error}"
        raise SignatureInvalid(msg) from error
    return Webhook(id, int(timestamp), body)


def _signature(id: str, timestamp: str, payload: bytes, key: bytes) -> str:
    digest = hmac.digest(key, f"{id}.{timestamp}.".encode() + payload, hashlib.sha256)
    return f"v1,{base64.b64encode(digest).decode()}"
