"""Finds the server that has the slot of a key, in a cluster.

A slot that has moved is followed, because nothing was done. A slot that is on its way to another server (ASK) is not:
scripts are given the prefix of a queue, so a server cannot tell which of their keys have left, and a script would see
only a part of them. Its queues are away until the slot has arrived.
"""

from collections.abc import Iterable
from typing import Any

from redis.crc import key_slot
from redis.exceptions import MovedError

from tenure.adapters.redis import faults
from tenure.adapters.redis.connecting import Address
from tenure.adapters.redis.connection_pool import Command
from tenure.adapters.redis.options import RedisOptions
from tenure.adapters.redis.replication import Replication
from tenure.adapters.redis.topology import Topology
from tenure.errors import BrokerUnavailable

#: How often a request follows its slot to another server.
_MOVES = 5


class ClusterLink(Topology):
    """The way to the server that has the slot of a key."""

    is_cluster = True

    def __init__(self, options: RedisOptions) -> None:
        """Ask for the map of slots when it is first needed."""
        super().__init__(options)
        #: First and last slot, and who has them.
        self._slots: list[tuple[int, int, Address]] = []

    async def address_of(self, key: str) -> Address:
        """Find the server of a key by the map, which is read again when a server says that it is out of date."""
        if not self._slots:
            await self._read_map()
        slot = key_slot(key.encode())
        for first, last, address in self._slots:
            if first <= slot <= last:
                return address
        self._slots = []
        raise faults.away(self.options.place, faults.NoMaster(slot), sent=False)

    async def publish_everywhere(self, channel: str) -> int:
        """Publish on every server that has a slot."""
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

    async def drop(self) -> None:
        """Ask for the map again, too."""
        self._slots = []
        await super().drop()

    async def _ask_all(
        self, commands: Iterable[tuple[str, Command]], confirmation: Replication | None = None
    ) -> list[Any]:
        commands = list(commands)
        by_server: dict[Address, list[int]] = {}
        for place, (key, _) in enumerate(commands):
            by_server.setdefault(await self.address_of(key), []).append(place)
        answers: list[Any] = [None] * len(commands)
        is_first = True
        for address, places in by_server.items():
            try:
                got = await self._exchange(address, [commands[place] for place in places], confirmation)
                for place, answer in zip(places, got, strict=True):
                    answers[place] = await self._follow(address, commands[place], answer, confirmation)
            except BrokerUnavailable as error:
                self._slots = []
                if is_first:
                    raise
                raise faults.in_part(error) from error
            is_first = False
        if any(faults.is_other_role(answer) for answer in answers):
            await self.drop()
        return answers

    async def _follow(
        self, asked: Address, command: tuple[str, Command], answer: Any, confirmation: Replication | None
    ) -> Any:
        """A slot that has moved: nothing was done, so ask where it is."""
        for _ in range(_MOVES):
            if not isinstance(answer, MovedError):
                return answer
            self._slots = []
            asked = (answer.host or asked[0], answer.port)
            (answer,) = await self._exchange(asked, [command], confirmation)
        raise faults.away(self.options.place, faults.Wandering(), sent=False)
