"""The link: how a request finds its server, and its answer finds the caller.

Three kinds: one server, the master that Sentinels name, and a cluster whose slots lie on several servers. A request is
repeated here only where Redis said that it did nothing: an unknown script, a slot that has moved. Used by `store.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import (
    AskError,
    AuthenticationError,
    MasterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
)

from tenure.adapters.redis import faults
from tenure.adapters.redis.line import Command, Line
from tenure.adapters.redis.options import Options
from tenure.adapters.redis.script import Script
from tenure.errors import BrokerUnavailable

Address = tuple[str, int]

#: How often a request follows its slot to another server.
_MOVES = 5


class Call(NamedTuple):
    """One run of a script: on the server that has the first key."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[Any]

    def command(self, *, whole: bool = False) -> Command:
        """By its name, or with its whole text."""
        name = ("EVAL", self.script.text) if whole else ("EVALSHA", self.script.sha)
        return (*name, len(self.keys), *self.keys, *self.arguments)


def connection_to(options: Options, address: Address, **more: Any) -> Connection:
    """A connection that never repeats anything by itself."""
    fields: dict[str, Any] = {
        "host": address[0], "port": address[1], "db": options.db, "username": options.username,
        "password": options.password, "protocol": 2, "decode_responses": False, "socket_timeout": None,
        "socket_connect_timeout": options.timeout_seconds, "socket_keepalive": True, "health_check_interval": 0,
        "retry": _no_retry(), "retry_on_timeout": False,
    } | more  # fmt: skip
    if options.tls:
        if options.ca_file:
            fields["ssl_ca_certs"] = options.ca_file
        return SSLConnection(**fields)
    return Connection(**fields)


def _no_retry() -> Any:
    from redis.asyncio.retry import Retry  # noqa: PLC0415 - two classes of that name

    return Retry(NoBackoff(), 0)


class Link:
    """The way to one server; the other kinds find theirs differently."""

    is_cluster = False

    def __init__(self, options: Options) -> None:
        """Nothing is connected yet."""
        self.options = options
        self._lines: dict[Address, Line] = {}

    async def run(self, call: Call) -> Any:
        """Run one script."""
        answer = await self._ask(call.keys[0], call.command())
        if isinstance(answer, NoScriptError):
            answer = await self._ask(call.keys[0], call.command(whole=True))
        return self._checked(answer)

    async def run_all(self, calls: Iterable[Call]) -> list[Any]:
        """Run several scripts, in one exchange where they lie on one server."""
        calls, made = list[Call](), calls

        def keyed() -> Iterator[tuple[str, Command]]:
            for call in made:
                calls.append(call)
                yield call.keys[0], call.command()

        answers = await self._ask_all(keyed())
        for place, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                answers[place] = await self._ask(calls[place].keys[0], calls[place].command(whole=True))
        return [self._checked(answer) for answer in answers]

    async def command(self, key: str, *command: Any) -> Any:
        """One plain command, on the server that has `key`."""
        return self._checked(await self._ask(key, command))

    async def commands(self, key: str, commands: Sequence[Command]) -> list[Any]:
        """Several, about keys that lie together."""
        return [self._checked(one) for one in await self._ask_all([(key, command) for command in commands])]

    async def address_of(self, key: str) -> Address:  # noqa: ARG002 - there is only one
        """The server that has `key`."""
        return self.options.hosts[0]

    async def drop(self) -> None:
        """Use none of the connections again: the server has ended one of them."""
        for line in self._lines.values():
            await line.drop()

    async def publish_everywhere(self, channel: str) -> int:
        """Say something on a channel of every server, behind all that was said there before; how many those are."""
        await self.command("", "PUBLISH", channel, "")
        return 1

    async def close(self) -> None:
        """Let go of every connection."""
        for line in self._lines.values():
            await line.close()

    async def _ask(self, key: str, command: Command) -> Any:
        (answer,) = await self._ask_all([(key, command)])
        return answer

    async def _ask_all(self, commands: Iterable[tuple[str, Command]]) -> list[Any]:
        address = await self.address_of("")
        return await self._line(address).exchange(command for _, command in commands)

    def _line(self, address: Address) -> Line:
        line = self._lines.get(address)
        if line is None:
            options = self.options
            line = Line(lambda: connection_to(options, address), options.place, options.timeout_seconds)
            self._lines[address] = line
        return line

    def _checked(self, answer: Any) -> Any:
        if isinstance(answer, BaseException):
            raise faults.translate(answer, self.options.place, sent=False) from answer
        return answer


class SentinelLink(Link):
    """The way to the master of a service."""

    def __init__(self, options: Options) -> None:
        """Ask Sentinels when it is first needed."""
        super().__init__(options)
        self._master: Address | None = None

    async def address_of(self, key: str) -> Address:  # noqa: ARG002 - there is only one
        """Whoever is the master, by the Sentinels' word."""
        if self._master is None:
            options = self.options
            login = {"password": options.sentinel_password} if options.sentinel_password else {}
            sentinel = Sentinel(  # type: ignore[no-untyped-call]
                list(options.hosts),
                socket_timeout=options.timeout_seconds,
                retry=_no_retry(),
                sentinel_kwargs=login or None,
            )
            try:
                self._master = await sentinel.discover_master(options.service)
            except (TimeoutError, OSError, RedisError) as error:
                raise faults.away(self.options.place, error, sent=False) from error
            finally:
                for one in sentinel.sentinels:
                    await one.aclose()
        return self._master

    async def _ask_all(self, commands: Iterable[tuple[str, Command]]) -> list[Any]:
        try:
            answers = await super()._ask_all(commands)
        except BrokerUnavailable:
            await self._look_again()
            raise
        if any(isinstance(answer, ReadOnlyError | MasterDownError | AuthenticationError) for answer in answers):
            await self._look_again()
        return answers

    async def _look_again(self) -> None:
        self._master = None
        await self.drop()


class ClusterLink(Link):
    """The way to the server that has the slot of a key."""

    is_cluster = True

    def __init__(self, options: Options) -> None:
        """Ask for the map of slots when it is first needed."""
        super().__init__(options)
        #: First and last slot, and who has them.
        self._slots: list[tuple[int, int, Address]] = []

    async def address_of(self, key: str) -> Address:
        """By the map, which is asked for again when a server says that it is out of date."""
        if not self._slots:
            await self._read_map()
        slot = key_slot(key.encode())
        for first, last, address in self._slots:
            if first <= slot <= last:
                return address
        self._slots = []
        raise faults.away(self.options.place, faults.NoMaster(slot), sent=False)

    async def publish_everywhere(self, channel: str) -> int:
        """On every server that has a slot."""
        masters = {address for _, _, address in self._slots}
        for address in masters:
            await self._line(address).exchange([("PUBLISH", channel, "")])
        return len(masters)

    async def _read_map(self) -> None:
        error: Exception | None = None
        known = dict.fromkeys([*self.options.hosts, *self._lines])
        for address in known:
            try:
                (reply,) = await self._line(address).exchange([("CLUSTER", "SLOTS")])
                slots = self._checked(reply)
            except BrokerUnavailable as trouble:
                error = trouble
                continue
            self._slots = [
                (int(first), int(last), ((master[0] or b"").decode() or address[0], int(master[1])))
                for first, last, master, *_ in slots
            ]
            return
        raise error or faults.away(self.options.place, None, sent=False)

    async def _ask_all(self, commands: Iterable[tuple[str, Command]]) -> list[Any]:
        commands = list(commands)
        by_server: dict[Address, list[int]] = {}
        for place, (key, _) in enumerate(commands):
            by_server.setdefault(await self.address_of(key), []).append(place)
        answers: list[Any] = [None] * len(commands)
        for address, places in by_server.items():
            try:
                got = await self._line(address).exchange([commands[place][1] for place in places])
            except BrokerUnavailable:
                self._slots = []
                raise
            for place, answer in zip(places, got, strict=True):
                answers[place] = await self._follow(commands[place][1], answer)
        return answers

    async def _follow(self, command: Command, answer: Any) -> Any:
        """A slot that has moved, or is on its way: nothing was done there, so ask where it is."""
        for _ in range(_MOVES):
            if isinstance(answer, MovedError):
                self._slots = []
                (answer,) = await self._line((answer.host, answer.port)).exchange([command])
            elif isinstance(answer, AskError):
                _, answer = await self._line((answer.host, answer.port)).exchange([("ASKING",), command])
            else:
                break
        return answer


def link_to(options: Options) -> Link:
    """The way that `options` name."""
    kinds = {"one": Link, "sentinel": SentinelLink, "cluster": ClusterLink}
    return kinds[options.kind](options)
