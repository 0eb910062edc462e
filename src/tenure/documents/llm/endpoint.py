"""The HTTP client for anything that speaks OpenAI's API: one call, one answer, every failure an `EndpointError`.

Nothing is repeated here: a handler that meets a busy endpoint is snoozed, so that its worker does something else.
"""

import email.utils
from collections.abc import Mapping
from datetime import UTC
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec

from tenure.documents.errors import EndpointError, Trouble
from tenure.errors import MissingExtra

#: An answer of more bytes is not read to its end.
_MOST_BYTES = 64 * 1024 * 1024
#: Of what the endpoint says about an error, so much is shown.
_SHOWN = 300
#: Other codes that another attempt may not meet.
_AWAY = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT, HTTPStatus.TOO_EARLY}


class Endpoint:
    """One endpoint with its key."""

    def __init__(self, base_url: str, key: str, *, seconds: float = 60.0) -> None:
        """Call below `base_url`; each call may take `seconds`."""
        #: Where it is, for people.
        self.base_url = base_url.rstrip("/")
        self._key = key
        self._seconds = seconds

    async def post(self, path: str, body: Any) -> Any:
        """The answer to a POST, as JSON. Raises `EndpointError`."""
        return await self.call("POST", path, body)

    async def call(
        self, method: str, path: str, body: Any = None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Any:
        """The answer to one call, as JSON; None: it is empty. Raises `EndpointError`."""
        try:
            import aiohttp
        except ImportError as error:
            raise MissingExtra("calls to models need an HTTP client: pip install 'tenure[documents]'") from error
        sent = {"Content-Type": "application/json", **headers}
        if self._key:
            sent["Authorization"] = f"Bearer {self._key}"
        data = None if body is None else msgspec.json.encode(body)
        url = f"{self.base_url}/{path}"
        timeout = aiohttp.ClientTimeout(total=self._seconds)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.request(method, url, data=data, headers=sent, allow_redirects=False) as response,
            ):
                raw = await response.content.read(_MOST_BYTES + 1)
                # `read(n)` may return less than there is.
                while len(raw) <= _MOST_BYTES and (more := await response.content.read(_MOST_BYTES + 1 - len(raw))):
                    raw += more
                status, after = response.status, response.headers.get("Retry-After", "")
        except TimeoutError:
            raise EndpointError(f"{url} did not answer within {self._seconds:g} s", Trouble.AWAY) from None
        except (aiohttp.InvalidURL, aiohttp.NonHttpUrlClientError) as error:
            raise EndpointError(f"{url} is no URL that can be called: {error}", Trouble.WRONG) from error
        except (aiohttp.ClientError, OSError) as error:
            raise EndpointError(
                f"{url} cannot be reached: {str(error) or type(error).__name__}", Trouble.AWAY
            ) from error
        return _answer(url, status, raw, after)


def _answer(url: str, status: int, raw: bytes, after: str) -> Any:
    if len(raw) > _MOST_BYTES:
        raise EndpointError(f"{url} answered with more than {_MOST_BYTES:,} bytes", Trouble.WRONG)
    said = raw[:_SHOWN].decode("utf-8", "replace").strip()
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise EndpointError(f"{url} is rate-limited (429): {said}", Trouble.BUSY, _seconds(after))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _AWAY:
        raise EndpointError(f"{url} answered {status}: {said}", Trouble.AWAY, _seconds(after))
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        raise EndpointError(f"{url} refused the call ({status}): {said}", Trouble.WRONG)
    if not raw:
        return None
    try:
        return msgspec.json.decode(raw)
    except msgspec.DecodeError:
        raise EndpointError(f"{url} did not answer with JSON: {said}", Trouble.WRONG) from None


def _seconds(after: str) -> float | None:
    """What Retry-After says: seconds, or a moment. None: nothing that can be read."""
    try:
        return max(0.0, float(after))
    except ValueError:
        pass
    try:
        moment = email.utils.parsedate_to_datetime(after)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - email.utils.localtime()).total_seconds())
