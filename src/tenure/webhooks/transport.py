"""The transport: one POST to a receiver, to an address that was judged, within bounds.

The addresses of a name are looked up for each connection. Every one is judged (`address.py`), and the connection goes
to one of those that were judged, because the connector gets them from here. So a name server that answers differently a
moment later changes nothing. TLS verifies the name all the same. Redirects are not followed, the environment's proxies
and cookies are not used, times are bounded, and of the answer only the status and a little text are read.

Stands on aiohttp, of the extra `webhooks`. Used by `deliver.py`.
"""

import asyncio
import functools
import ipaddress
import socket
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from email.utils import parsedate_to_datetime
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import msgspec

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import MissingExtra
from tenure.rules.webhook_allow import Address
from tenure.webhooks.address import AddressRules, Place, Unreadable, read

if TYPE_CHECKING:
    import aiohttp

CONNECT_SECONDS = 5.0
TOTAL_SECONDS = 15.0
#: Once the status is known, its text may take so long; it decides nothing.
TEXT_SECONDS = 1.0
#: Of an answer's body so much is read, for people who look for what went wrong.
MOST_ANSWER = 2_048
#: Idle connections are closed before most servers close them.
_KEEP_SECONDS = 1.5
_MOST_CONNECTIONS = 256
_SHOWN = 200
_LOOKUPS = 16

#: Looks up a name: all its addresses.
Lookup = Callable[[str, int], Awaitable[Sequence[str]]]


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one POST."""

    #: None: there was no answer.
    status: int | None = None
    #: What the receiver asked for by Retry-After, in seconds.
    retry_after: float | None = None
    seconds: float = 0.0
    #: Why there was no answer, or the beginning of the answer's text. Empty: nothing to say.
    error: str = ""
    #: The URL may not be called, by our own rules: nothing was sent.
    refused: bool = False

    @property
    def is_ok(self) -> bool:
        """Whether the receiver has it."""
        return self.status is not None and 200 <= self.status < 300  # noqa: PLR2004 - the range of success


class _Refused(OSError):
    """Raised within the connector for addresses that may not be called."""


class Transport:
    """Posts to receivers. Made in the loop that uses it, and closed there."""

    def __init__(
        self,
        rules: AddressRules,
        clock: Clock = SYSTEM_CLOCK,
        *,
        lookup: Lookup | None = None,
        trust: ssl.SSLContext | None = None,
        connect_seconds: float = CONNECT_SECONDS,
        total_seconds: float = TOTAL_SECONDS,
    ) -> None:
        """`trust`: whom TLS trusts; default: whom the system trusts. `lookup`: for tests."""
        self._rules = rules
        self._clock = clock
        self._lookup = lookup or self._look_up
        #: A name server that hangs takes these threads, and no others.
        self._threads = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="tenure-webhook-names")
        self._trust = trust
        self._times = (connect_seconds, total_seconds)
        #: By scheme: a connection that may be made for http is another one than for https.
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        """Post once. Whatever the receiver does, it answers with a value."""
        aiohttp = _aiohttp()
        began = self._clock.monotonic()

        def answer(**fields: Any) -> Answer:
            return Answer(seconds=self._clock.monotonic() - began, **fields)

        try:
            place = read(url)
            target = self._target(place, url)
        except (Unreadable, _Refused) as error:
            return answer(error=str(error), refused=True)
        try:
            async with (
                asyncio.timeout(self._times[1]),
                self._session(place.scheme).post(target, data=body, headers=headers, allow_redirects=False) as response,
            ):
                text = await _beginning(response)
                after = _retry_after(response.headers.get("Retry-After"), self._clock.wall())
                return answer(status=response.status, retry_after=after, error=_shown(response.status, text))
        except TimeoutError:
            return answer(error=f"no answer within {self._times[1]:g} s")
        except aiohttp.ClientConnectorError as error:
            if isinstance(error.os_error, _Refused):
                return answer(error=str(error.os_error), refused=True)
            return answer(error=f"cannot connect: {error.os_error.strerror or _one_line(error.os_error)}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return answer(error=_one_line(error))

    async def close(self) -> None:
        """Close the connections."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            await session.close()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _target(self, place: Place, url: str) -> Any:
        """The URL for aiohttp. Raises `_Refused` for an address that may not be called."""
        from yarl import URL  # noqa: PLC0415 - comes with aiohttp

        target = URL(url, encoded=True)
        # What was judged must be what is called, however the two libraries read a URL.
        host = (target.raw_host or "").removesuffix(".")
        if (target.scheme, host, target.port) != (place.scheme, place.host, place.port):
            msg = f"its URL is read as {place.host}:{place.port} and as {host}:{target.port}; write it plainly"
            raise _Refused(msg)
        problem = self._rules.refusal(url)
        if problem:
            raise _Refused(problem)
        return target

    async def judged(self, scheme: str, host: str, port: int) -> list[str]:
        """Every address of a name, if each of them may be called. Raises `OSError`."""
        place = Place(scheme, host.removesuffix("."), port)
        addresses: list[Address] = [ipaddress.ip_address(one) for one in await self._lookup(host, port)]
        problem = self._rules.refusal_of(place, addresses)
        if problem:
            raise _Refused(problem)
        return [str(one) for one in addresses]

    async def _look_up(self, host: str, port: int) -> list[str]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            self._threads, functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        )
        return list(dict.fromkeys(str(one[4][0]).partition("%")[0] for one in found))

    def _session(self, scheme: str) -> "aiohttp.ClientSession":
        session = self._sessions.get(scheme)
        if session is None:
            session = self._sessions[scheme] = self._new_session(scheme)
        return session

    def _new_session(self, scheme: str) -> "aiohttp.ClientSession":
        aiohttp = _aiohttp()
        from aiohttp import ClientSession  # noqa: PLC0415 - likewise
        from aiohttp.abc import AbstractResolver, ResolveResult  # noqa: PLC0415 - of the extra `webhooks`

        transport = self

        class Pinned(AbstractResolver):
            """Gives the connector the addresses that were judged, and no others."""

            async def resolve(
                self,
                host: str,
                port: int = 0,
                family: socket.AddressFamily = socket.AF_INET,  # noqa: ARG002 - both kinds are judged
            ) -> list[ResolveResult]:
                return [
                    ResolveResult(
                        hostname=host, host=address, port=port, proto=0, flags=socket.AI_NUMERICHOST,
                        family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                    )
                    for address in await transport.judged(scheme, host, port)
                ]  # fmt: skip

            async def close(self) -> None:
                """Nothing is open."""

        connector = aiohttp.TCPConnector(
            resolver=Pinned(), use_dns_cache=False, limit=_MOST_CONNECTIONS, keepalive_timeout=_KEEP_SECONDS,
            ssl=True if self._trust is None else self._trust,
        )  # fmt: skip
        made: ClientSession = aiohttp.ClientSession(
            connector=connector, trust_env=False, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._times[0]),
            headers={"User-Agent": f"Tenure/{version('tenure')}", "Accept-Encoding": "identity",
                     "Content-Type": "application/json"},
        )  # fmt: skip
        return made


async def _beginning(response: "aiohttp.ClientResponse") -> str:
    """The beginning of the answer's text. What is longer, or slow, is not read, and its connection is closed."""
    text = b""
    try:
        async with asyncio.timeout(TEXT_SECONDS):
            while len(text) <= MOST_ANSWER:
                piece = await response.content.read(MOST_ANSWER + 1 - len(text))
                if not piece:
                    return text.decode("utf-8", "replace")
                text += piece
    except (TimeoutError, OSError, ValueError, _aiohttp().ClientError):
        pass  # the status is what counts, and it is known
    response.close()
    return text[:MOST_ANSWER].decode("utf-8", "replace")


def _retry_after(value: str | None, wall: float) -> float | None:
    """Seconds until then; the header has a number or a date. None: it says nothing."""
    if value is None:
        return None
    if value.isascii() and value.strip().isdigit():
        return float(value[:12])
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() - wall)


def _shown(status: int, text: str) -> str:
    if 200 <= status < 300:  # noqa: PLR2004 - the range of success
        return ""
    if 300 <= status < 400:  # noqa: PLR2004 - the range of redirects
        return "it redirects, which webhooks do not follow; register the final URL"
    plain = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return plain if len(plain) <= _SHOWN else plain[: _SHOWN - 1] + "…"


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _aiohttp() -> Any:
    try:
        import aiohttp  # noqa: PLC0415 - of the extra `webhooks`
    except ImportError as error:
        msg = "webhooks need the packages of an extra; run: pip install 'tenure[webhooks]'"
        raise MissingExtra(msg) from error
    return aiohttp
