"""A way to an HTTP server on which chosen calls go wrong: a proxy on a loopback port that reads requests.

    with HttpProxy(server_port) as proxy:
        proxy.rule(lambda call: b"DeleteMessage" in call.target, proxy.drop_reply, times=1)

    drop_reply   the server carries it out, and its answer reaches nobody: the connection ends
    cut          the server never hears of it: the connection ends
    delay        the server carries it out; the answer comes so much later, in real seconds
    answer       the server never hears of it; a status and a body of the test's own are answered
    hold         neither is heard of before `let_go`

Rules are asked in the order in which they were made; the first that matches and is not used up decides. What no rule
wants passes. `calls` keeps what was seen, so that tests can count. It has a thread of its own, and knows no vendor.
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

_SOON = 60.0
_LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True)
class Call:
    """One request: `GET /path?query`, its headers by small letters, its body."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def target(self) -> bytes:
        """What it is about, for rules: method, path, and the header in which some vendors name the act."""
        return f"{self.method} {self.path} {self.headers.get('x-amz-target', '')}".encode()


#: Answers for a call, given how to ask the server. None: end the connection.
Act = Callable[[Call, Callable[[], Awaitable[bytes]]], Awaitable[bytes | None]]


@dataclass
class Rule:
    """When `matches`, `act`, so many times. `used` counts."""

    matches: Callable[[Call], bool]
    act: Act
    times: float
    used: int = 0


@dataclass
class _Ways:
    rules: list[Rule] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)


class HttpProxy:
    """Between clients, who connect to `port`, and the server on another port of this host."""

    def __init__(self, server_port: int) -> None:
        """Start it; everything passes."""
        self._server_port = server_port
        self._ways = _Ways()
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http-proxy", daemon=True)
        self._thread.start()
        self._connections: set[asyncio.Task[None]] = set()
        self._go = asyncio.Event()
        self._listening = self._do(self._listen())
        #: Where clients connect to.
        self.port: int = self._listening.sockets[0].getsockname()[1]

    @property
    def url(self) -> str:
        """For clients."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def calls(self) -> list[Call]:
        """Everything that was asked so far."""
        with self._lock:
            return list(self._ways.calls)

    def rule(self, matches: Callable[[Call], bool], act: Act, *, times: float = float("inf")) -> Rule:
        """From now on do `act` for what `matches`, so many times."""
        rule = Rule(matches, act, times)
        with self._lock:
            self._ways.rules.append(rule)
        return rule

    def clear(self) -> None:
        """Let everything pass, also what is held; and forget what was seen."""
        with self._lock:
            self._ways.rules.clear()
            self._ways.calls.clear()
        self.let_go()

    def let_go(self) -> None:
        """What is held goes on."""
        self._loop.call_soon_threadsafe(self._go.set)

    # -- acts --------------------------------------------------------------------------------------

    @staticmethod
    async def drop_reply(_call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
        """Carried out, and nobody is told."""
        await ask()
        return None

    @staticmethod
    async def cut(_call: Call, _ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
        """The line breaks before the server hears of it."""
        return None

    @staticmethod
    def delay(seconds: float) -> Act:
        """The answer comes late."""

        async def act(_call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
            answer = await ask()
            await asyncio.sleep(seconds)
            return answer

        return act

    @staticmethod
    def answer(status: int, body: bytes = b"", **headers: str) -> Act:
        """Answered here. Underscores in the names of headers are dashes."""

        async def act(_call: Call, _ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
            lines = [f"HTTP/1.1 {status} Said by the proxy", f"Content-Length: {len(body)}", "Connection: close"]
            lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
            return "\r\n".join([*lines, "", ""]).encode() + body

        return act

    async def hold(self, _call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
        """Until `let_go`."""
        self._go.clear()
        await self._go.wait()
        return await ask()

    # -- its life ----------------------------------------------------------------------------------

    def stop(self) -> None:
        """End it, and every connection through it."""
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_SOON)
        self._loop.close()

    def __enter__(self) -> Self:
        """Itself, started."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(_SOON)

    async def _listen(self) -> asyncio.Server:
        return await asyncio.start_server(self._take, "127.0.0.1", 0, limit=_LIMIT)

    async def _end(self) -> None:
        self._listening.close()
        connections = list(self._connections)
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)
        with contextlib.suppress(asyncio.CancelledError):
            await connection

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request to a connection: whoever asked is told to make a new one for the next."""
        try:
            call = await _read(reader, writer)
            answer = await self._act_for(call)(call, partial(self._ask, call))
            if answer is not None:
                writer.write(_closing(answer))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (OSError, EOFError):
            pass  # one side hung up; the other is told below
        finally:
            writer.transport.abort()

    def _act_for(self, call: Call) -> Act:
        with self._lock:
            self._ways.calls.append(call)
            for rule in self._ways.rules:
                if rule.used < rule.times and rule.matches(call):
                    rule.used += 1
                    return rule.act
        return _pass_on

    async def _ask(self, call: Call) -> bytes:
        """The server's whole answer."""
        there, to_server = await asyncio.open_connection("127.0.0.1", self._server_port, limit=_LIMIT)
        try:
            headers = call.headers | {"connection": "close", "content-length": str(len(call.body))}
            headers.pop("transfer-encoding", None)
            headers.pop("expect", None)
            lines = [f"{call.method} {call.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
            to_server.write("\r\n".join([*lines, "", ""]).encode("latin-1") + call.body)
            await to_server.drain()
            return await there.read()
        finally:
            to_server.transport.abort()


def _closing(answer: bytes) -> bytes:
    """The answer, saying that the connection ends with it: else the next request would be sent into nothing."""
    head, blank, body = answer.partition(b"\r\n\r\n")
    if b"connection: close" in head.lower():
        return answer
    status, _, headers = head.partition(b"\r\n")
    return b"\r\n".join([status, b"Connection: close", headers]) + blank + body


async def _pass_on(_call: Call, ask: Callable[[], Awaitable[bytes]]) -> bytes | None:
    return await ask()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Call:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.partition(":") for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunks(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Call(method, path, headers, body)


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers
    return body
