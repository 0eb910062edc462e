"""The roster: which workers are alive, proven by a connection, and by a word once a second.

Every worker has a connection with a name on it (`listening.py`). The kernel closes it when the process ends, however
it ends: one that is not there for a second is dead. A machine that is gone closes nothing: whoever was not heard for 15
seconds is given up too, but not called crashed. After an outage of the server, or of everybody's way to it, nobody is
called dead before all could be heard; and a connection to a server that was replaced or restarted proves nothing.

The connections are listed about twice a second for all workers together: whose turn it is, a beat is told.
"""

from typing import Any

import msgspec

from tenure.adapters.redis import strange
from tenure.adapters.redis.script import ROSTER
from tenure.adapters.redis.store import Store, micros
from tenure.errors import BrokerError, BrokerUnavailable, ConfigurationError
from tenure.owner import DeadOwner, Owner, retired

#: How long a word counts.
PRESENCE_SECONDS = 15.0
#: If nothing was heard of anybody for so long, that was the server's fault or the network's: two beats.
SILENCE_SECONDS = 2.0
#: If nobody looked for so long, nobody is blamed for silence.
_GAP_SECONDS = 10.0
#: After such a gap, or after the end of the looker's own connection, everybody has so long to connect again.
_RECONNECT_SECONDS = 3.0
#: A connection must be missing for so long.
_ABSENT_SECONDS = 1.0
#: And its owner must have said nothing for so long: a little more than workers leave between two words.
_UNHEARD_SECONDS = 1.5
#: Between two lists of the connections; and how old the last one may be for those whose turn it was not.
_LIST_SECONDS, _FRESH_SECONDS = 0.45, 0.9

#: What a beat is answered when the connections should be listed.
_YOUR_TURN = 2

_encode = msgspec.json.Encoder().encode
_decoder = msgspec.json.Decoder(Owner)

_PROOFS = {
    b"left": "it said goodbye",
    b"silent": f"nothing was heard of it for {PRESENCE_SECONDS:.0f} s",
    b"gone": "its connection is gone: the process has ended",
    b"again": "its connection is gone, and a new boot under its name is here",
}


class RedisRoster:
    """Presence in the store."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`."""
        self._store = store
        self._may_list = True
        self._is_my_turn = False
        #: How often our own connection had ended when we last looked.
        self._losses = 0

    async def join(self, owner: Owner) -> None:
        """First the connection, then the entry: whoever is listed can be tested."""
        await self._store.listener.start()
        window = micros(PRESENCE_SECONDS)
        joined = await self._store.run(ROSTER, (), "join", owner.id, _encode(owner), self._store.token, window)
        if not joined:
            raise retired(owner.id)

    async def beat(self, owner: Owner) -> None:
        """Say that it is still there, by this store's connection from now on. If the server lost it, it joins again."""
        await self._store.stay_present()
        windows = (micros(PRESENCE_SECONDS), micros(_LIST_SECONDS), micros(SILENCE_SECONDS))
        answer = await self._store.run(ROSTER, (), "beat", owner.id, self._store.token, *windows, _encode(owner))
        self._is_my_turn = answer == _YOUR_TURN

    async def leave(self, owner: Owner) -> None:
        """Goodbye."""
        await self._store.run(ROSTER, (), "leave", owner.id)

    async def alive(self) -> list[Owner]:
        """Everybody on the roster who is not proven dead."""
        return [owner for owner, proof in await self._look() if not proof]

    async def dead(self) -> list[DeadOwner]:
        """Everybody on the roster who is proven dead, or left."""
        return [
            DeadOwner(owner, _PROOFS[proof], left=proof == b"left") for owner, proof in await self._look() if proof
        ]  # fmt: skip

    async def _look(self) -> list[tuple[Owner, bytes]]:
        reply: Any = await self._ask("marks") if self._may_list and not self._is_my_turn else -1
        if reply == -1:
            self._is_my_turn = False
            lines = await self._connections()
            reply = await self._ask("words") if lines is None else await self._ask("list", *lines)
        found = [
            (owner, bytes(proof))
            for raw, proof in zip(reply[1::3], reply[2::3], strict=True)
            if (owner := strange.read(_decoder, raw, "the roster")) is not None
        ]  # fmt: skip
        return sorted(found, key=lambda one: (one[0].started_at, one[0].id))

    async def _ask(self, *by: str | bytes) -> Any:
        windows = (
            PRESENCE_SECONDS, _GAP_SECONDS, _RECONNECT_SECONDS, _ABSENT_SECONDS, _UNHEARD_SECONDS, _FRESH_SECONDS
        )  # fmt: skip
        losses = self._store.listener.losses
        # What ended our own connection may have ended others', and not all are as quick.
        was_cut, self._losses = losses > self._losses, losses
        return await self._store.run(ROSTER, (), "look", *map(micros, windows), int(was_cut), *by)

    async def _connections(self) -> list[bytes] | None:
        """The names of all connections. None: they cannot be had."""
        if not self._may_list:
            return None
        try:
            text = bytes(await self._store.command("CLIENT", "LIST"))
        except BrokerUnavailable:
            raise
        except (BrokerError, ConfigurationError):
            self._may_list = False  # not everybody may ask; what is said once a second remains
            return None
        names = (part[5:] for line in text.splitlines() for part in line.split(b" ") if part.startswith(b"name="))
        return [name.removeprefix(b"tenure:") for name in names if name.startswith(b"tenure:")]
