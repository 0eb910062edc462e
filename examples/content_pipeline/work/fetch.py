"""Reads a feed from a file or over HTTP."""

import urllib.error
import urllib.request
from pathlib import Path

from tenure import Reject, Retry

_TIMEOUT_SECONDS = 20.0
_MOST_BYTES = 10_000_000
_GONE = (404, 410)


def fetch(place: str) -> bytes:
    """The bytes at a path or URL. Raises `Retry` for a server that is busy, `Reject` for a feed that is gone."""
    if not place.startswith(("http://", "https://")):
        return Path(place).read_bytes()
    request = urllib.request.Request(place, headers={"User-Agent": "content-pipeline"})  # noqa: S310 - http and https
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:  # noqa: S310 - likewise
            body: bytes = answer.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in _GONE:
            raise Reject(f"{place} is gone: HTTP {error.code}") from error
        raise Retry(reason=f"{place} answers HTTP {error.code}") from error
    except OSError as error:
        raise Retry(reason=f"{place} cannot be reached: {error}") from error
    if len(body) > _MOST_BYTES:
        raise Reject(f"{place} is larger than {_MOST_BYTES:,} bytes")
    return body
