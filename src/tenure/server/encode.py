"""Encoding: from what a handler answers to the response. JSON over 1 kB is compressed where the client takes it.

A body with a secret is never compressed: its size would reveal it to an attacker who can add text beside it (BREACH).
Streams are not encoded here, and not compressed either.
"""

import asyncio
import gzip
import hashlib

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from tenure.server.redaction import Redaction
from tenure.server.route import Reply, Route

LEAST_COMPRESSED = 1_024
#: From here on compressing takes long enough to be done in a thread.
_LARGE = 65_536
#: Half the time of level 6, for a few per cent more bytes.
_LEVEL = 4


async def encode_reply(reply: Reply, request: Request, route: Route, redaction: Redaction) -> Response:
    """The response of a reply."""
    headers = dict(reply.headers)
    if reply.value is None:
        return Response(None, reply.status, headers)
    # What is encoded already was redacted where that was done.
    body = reply.value if isinstance(reply.value, bytes) else _encoded(reply, redaction)
    if route.is_tagged and "ETag" not in headers:
        tag = tag_of(body)
        # Kept by the client, and asked for again each time.
        headers |= {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept, Authorization, Cookie"}
        if has_tag(request.headers.get("if-none-match", ""), tag):
            return Response(None, 304, headers)
    if len(body) >= LEAST_COMPRESSED and not reply.is_secret:
        headers["Vary"] = ", ".join(filter(None, (headers.get("Vary"), "Accept-Encoding")))
        if takes_gzip(request):
            body = await _compressed(body)
            headers["Content-Encoding"] = "gzip"
    return Response(body, reply.status, headers, route.media_type)


def _encoded(reply: Reply, redaction: Redaction) -> bytes:
    body = msgspec.json.encode(reply.value)
    return body if reply.is_secret else redaction.redact(body)


def tag_of(body: bytes) -> str:
    """The value of `ETag`. Weak: compressed or not, it is the same answer."""
    return f'W/"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'


def has_tag(if_none_match: str, tag: str) -> bool:
    """Whether the client has it already."""
    known = {one.strip().removeprefix("W/") for one in if_none_match.split(",")}
    return "*" in known or tag.removeprefix("W/") in known


async def _compressed(body: bytes) -> bytes:
    if len(body) < _LARGE:
        return gzip.compress(body, _LEVEL, mtime=0)
    return await asyncio.to_thread(gzip.compress, body, _LEVEL, mtime=0)


def takes_gzip(request: Request) -> bool:
    """Whether the client takes a compressed answer."""
    for one in request.headers.get("accept-encoding", "").split(","):
        name, _, quality = one.partition(";")
        if name.strip().lower() in ("gzip", "*"):
            return quality.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
