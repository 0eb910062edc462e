"""The endpoint of a worker: answers `GET /metrics`, and nothing else.

It is not the server of `tenure serve`: a worker needs no extra for it, and serves nothing of the store. One request a
connection, small and bounded; a `Host` that is no name of this machine is refused where there is no token, so that no
web page reads the metrics through a browser.
"""

import asyncio
import contextlib
import errno
import hmac
import logging
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus

from tenure.errors import ConfigurationError
from tenure.monitoring.metrics.address import MetricsAddress, check_access, is_loopback
from tenure.monitoring.metrics.exposition import OPENMETRICS, TEXT, render, wants_openmetrics
from tenure.monitoring.metrics.sample import Sample

logger = logging.getLogger("tenure.metrics")

#: A request must be complete after so long.
_REQUEST_SECONDS = 5.0
_MOST_REQUEST_BYTES = 16 * 1024
#: Scrapes that are answered at once; others are refused.
_MOST_AT_ONCE = 8

Collect = Callable[[], Awaitable[Sequence[Sample]]]


class MetricsEndpoint:
    """Serves metrics at one address, on the loop that starts it."""

    def __init__(self, address: MetricsAddress, collect: Collect, *, token: str | None = None) -> None:
        """Serve what `collect` returns. Raises `ConfigurationError` where others could read it without a token."""
        check_access(address, token)
        self._address = address
        self._collect = collect
        self._token = token
        self._server: asyncio.Server | None = None
        self._busy = 0

    @property
    def url(self) -> str:
        """Where it is found, once it was started."""
        host = f"[{self._address.host}]" if ":" in self._address.host else self._address.host
        port = self._address.port if self._server is None else self._server.sockets[0].getsockname()[1]
        return f"http://{host}:{port}/metrics"

    async def start(self) -> None:
        """Listen. Raises `ConfigurationError` if that is not possible."""
        try:
            self._server = await asyncio.start_server(
                self._serve, self._address.host, self._address.port, limit=_MOST_REQUEST_BYTES
            )
        except OSError as error:
            in_use = error.errno == errno.EADDRINUSE
            why = "the port is in use by another program" if in_use else error.strerror or str(error)
            msg = f"metrics cannot be served at {self._address.host}:{self._address.port}: {why}. Nothing was started"
            raise ConfigurationError(msg) from error
        logger.debug("metrics are served at %s", self.url)

    async def stop(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            status, kind, body = await self._answer(reader)
            head = (
                f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
                "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n"
            )
            if status is HTTPStatus.UNAUTHORIZED:
                head += 'WWW-Authenticate: Bearer realm="tenure"\r\n'
            writer.write(f"{head}\r\n".encode() + body)
            async with asyncio.timeout(_REQUEST_SECONDS):
                await writer.drain()
        except (ConnectionError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            logger.debug("a scrape was not answered: the connection ended, or its request was none")
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(_REQUEST_SECONDS):
                    await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader) -> tuple[HTTPStatus, str, bytes]:
        async with asyncio.timeout(_REQUEST_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        request, *lines = head.split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        refusal = self._refusal(request, headers)
        if refusal is not None:
            return refusal
        if self._busy >= _MOST_AT_ONCE:
            return _said(HTTPStatus.SERVICE_UNAVAILABLE, "too many scrapes at once")
        self._busy += 1
        try:
            samples = await self._collect()
        except Exception:
            logger.exception("metrics could not be read")
            return _said(HTTPStatus.INTERNAL_SERVER_ERROR, "metrics could not be read; the worker's log says why")
        finally:
            self._busy -= 1
        openmetrics = wants_openmetrics(headers.get("accept", ""))
        return HTTPStatus.OK, OPENMETRICS if openmetrics else TEXT, render(samples, openmetrics=openmetrics)

    def _refusal(self, request: str, headers: dict[str, str]) -> tuple[HTTPStatus, str, bytes] | None:
        method, _, rest = request.partition(" ")
        if method != "GET":
            return _said(HTTPStatus.METHOD_NOT_ALLOWED, "metrics are read with GET")
        if self._token is not None:
            if not _is_token(headers.get("authorization", ""), self._token):
                return _said(HTTPStatus.UNAUTHORIZED, "metrics need the token of TENURE_METRICS_TOKEN")
        elif not is_loopback(_host_in(headers.get("host", ""))):
            return _said(HTTPStatus.MISDIRECTED_REQUEST, "metrics are for programs of this machine")
        if rest.split(" ")[0].partition("?")[0] != "/metrics":
            return _said(HTTPStatus.NOT_FOUND, "metrics are at /metrics")
        return None


def _said(status: HTTPStatus, text: str) -> tuple[HTTPStatus, str, bytes]:
    return status, "text/plain; charset=utf-8", f"{text}\n".encode()


def _is_token(header: str, token: str) -> bool:
    scheme, _, given = header.partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())


def _host_in(header: str) -> str:
    """The name in a `Host` header, without the port."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.rpartition(":")[0] if header.count(":") == 1 else header
