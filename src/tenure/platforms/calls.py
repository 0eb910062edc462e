"""Small HTTP requests to the manager of a machine: link-local or in the cluster, JSON or text, a few a minute.

By the standard library in a thread, because a worker has no HTTP client of its own. No proxy is asked: these addresses
are on the machine or beside it.
"""

import asyncio
import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping

import msgspec

#: A manager on the same machine answers in milliseconds.
_PATIENCE_SECONDS = 5.0
_MOST_BYTES = 1_048_576


class Unanswered(Exception):
    """There was no answer, or one that cannot be read."""


class Answer(msgspec.Struct, frozen=True):
    """What was answered."""

    status: int
    body: bytes


async def call(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    ca_file: str | None = None,
) -> Answer:
    """Ask; any status is an answer. Raises `Unanswered`."""
    return await asyncio.to_thread(_call, method, url, dict(headers or {}), body, ca_file)


def _call(method: str, url: str, headers: dict[str, str], body: bytes | None, ca_file: str | None) -> Answer:
    if not url.startswith(("http://", "https://")):
        raise Unanswered(f"{url!r} is no web address")
    request = urllib.request.Request(url, data=body, headers=headers, method=method)  # noqa: S310 - checked above
    handlers: list[urllib.request.BaseHandler] = [urllib.request.ProxyHandler({})]
    try:
        if ca_file is not None:  # read for each call: it is replaced when the authority is
            handlers.append(urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=ca_file)))
        with urllib.request.build_opener(*handlers).open(request, timeout=_PATIENCE_SECONDS) as answer:
            return Answer(answer.status, answer.read(_MOST_BYTES))
    except urllib.error.HTTPError as error:
        return Answer(error.code, _rest(error))
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Unanswered(f"{url} did not answer: {str(error) or type(error).__name__}") from error


def _rest(error: urllib.error.HTTPError) -> bytes:
    """What a refusal says. The status is enough if the connection broke off behind it."""
    with error:
        try:
            return error.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException):
            return b""
