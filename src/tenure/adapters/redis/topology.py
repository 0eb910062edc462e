"""Sends requests to the right server, and returns its answers.

Here to one server; `sentinel.py` and `cluster.py` find theirs differently. A request is repeated only where Redis said
that it did nothing: an unknown script, a slot that has moved. Used by `store.py`.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from redis.exceptions import AskError, NoScriptError

from tenure.adapters.redis import faults
from tenure.adapters.redis.connecting import Address, connection_to
from tenure.adapters.redis.connection_pool import Command, ConnectionPool
from tenure.adapters.redis.options import RedisOptions
from tenure.adapters.redis.replication import Replication
from tenure.adapters.redis.script import Script
from tenure.errors import BrokerUnavailable


class ScriptCall(NamedTuple):
    """One run of a script, on the server that has the first key."""

    script: Script
    keys: Sequence[str]
    arguments: Sequence[Any]

    def command(self, *, whole: bool = False) -> Command:
        """The command that runs the script, by its name or with its whole text."""
        name = ("EVAL", self.script.text) if whole else ("EVALSHA", self.script.sha)
        return (*name, len(self.keys), *self.keys, *self.arguments)


class Topology:
    """The way to one server; the other kinds find theirs differently."""

    is_cluster = False

    def __init__(self, options: RedisOptions) -> None:
        """Take the options. The first request connects."""
        self.options = options
        self._lines: dict[Address, ConnectionPool] = {}
        #: How often the connections were dropped.
        self._drops = 0

    @property
    def drops(self) -> int:
        """Grows whenever connections turned out to be useless, or to lead to the wrong server."""
        drops = self._drops
        for line in self._lines.values():
            drops += line.drops
        return drops

    async def run_all(
        self, calls: Iterable[ScriptCall], confirmation: Replication | None = None, *, each: bool = False
    ) -> list[Any]:
        """Run several scripts, in one exchange where they run on one server.

        `each`: a script that met a key of another kind has a `StoreForeign` for its answer, and the others have theirs.
        """
        calls, made = list[ScriptCall](), calls

        def keyed() -> Iterator[tuple[str, Command]]:
            for call in made:
                calls.append(call)
                yield call.keys[0], call.command()

        answers = await self._ask_all(keyed(), confirmation)
        for place, answer in enumerate(answers):
            if isinstance(answer, NoScriptError):
                answers[place] = await self._ask_again(calls[place], confirmation, alone=len(answers) == 1)
        return self.all_checked(answers, confirmation, each=each)

    async def _ask_again(self, call: ScriptCall, confirmation: Replication | None, *, alone: bool) -> Any:
        try:
            (answer,) = await self._ask_all([(call.keys[0], call.command(whole=True))], confirmation)
        except BrokerUnavailable as error:
            if alone:
                raise
            raise faults.in_part(error) from error
        return answer

    async def command(self, key: str, *command: Any) -> Any:
        """Send one plain command to the server that has `key`."""
        return self._checked(await self._ask(key, command))

    async def commands(self, key: str, commands: Sequence[Command]) -> list[Any]:
        """Several, about keys of one slot."""
        return self.all_checked(await self._ask_all([(key, command) for command in commands]))

    async def address_of(self, key: str) -> Address:  # noqa: ARG002 - there is only one
        """The server that has `key`."""
        return self.options.hosts[0]

    async def drop(self) -> None:
        """Use none of the connections again: the server has ended one of them, or is no longer the right one."""
        self._drops += 1
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

    async def _ask_all(
        self, commands: Iterable[tuple[str, Command]], confirmation: Replication | None = None
    ) -> list[Any]:
        answers = await self._exchange(await self.address_of(""), commands, confirmation)
        if any(faults.is_other_role(answer) for answer in answers):
            await self.drop()  # the name may lead to another server by now
        return answers

    async def _exchange(
        self, address: Address, commands: Iterable[tuple[str, Command]], confirmation: Replication | None
    ) -> list[Any]:
        line = self._line(address)
        if confirmation is None:
            return await line.exchange(command for _, command in commands)

        def with_asks() -> Iterator[Command]:
            key = ""
            for own, command in commands:
                key = own
                yield command
            yield from confirmation.commands(key)

        answers = await line.exchange(with_asks(), confirmation.seconds)
        told, asked = answers[: -confirmation.size], answers[-confirmation.size :]
        if not all(isinstance(answer, NoScriptError | AskError) for answer in told):
            confirmation.read(asked)  # else nothing was done yet
        return told

    def _line(self, address: Address) -> ConnectionPool:
        line = self._lines.get(address)
        if line is None:
            options = self.options
            line = ConnectionPool(lambda: connection_to(options, address), options.place, options.timeout_seconds)
            self._lines[address] = line
        return line

    def _checked(self, answer: Any) -> Any:
        if isinstance(answer, BaseException):
            raise faults.translate(answer, self.options.place, sent=False) from answer
        return answer

    def all_checked(
        self, answers: list[Any], confirmation: Replication | None = None, *, each: bool = False
    ) -> list[Any]:
        """The answers; the first error among them is raised, and says whether some were carried out."""
        errors = [answer for answer in answers if isinstance(answer, BaseException)]
        if each and errors:
            answers = [faults.translate_foreign(answer, self.options.place) for answer in answers]
            errors = [error for error in errors if not faults.is_foreign(error)]
        if errors:
            error = faults.translate(errors[0], self.options.place, sent=False)
            raise error if len(errors) == len(answers) else faults.in_part(error) from errors[0]
        if confirmation is not None and confirmation.lack:
            raise faults.not_replicated(self.options.place, confirmation.lack)
        return answers
