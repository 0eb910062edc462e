"""A slate: a piece of memory that a child worker shares with its supervisor, and on which it writes what it runs.

The child may die at any moment, in the middle of a stroke too. So there are two faces: it writes on the one that is
not being shown, with a checksum, and then turns the slate. What the supervisor reads after a death is the last thing
that was written whole.

Written by `tether.py` in the child, read by `ward.py` in the supervisor.
"""

import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Iterable
from itertools import islice

import msgspec

#: Of one face; more ids than fit are counted, not named.
_FACE_BYTES = 16 * 1024
_MOST_IDS = 256

_face = struct.Struct("=II")  # length and checksum of what follows
_turn = struct.Struct("=Q")
_tick = struct.Struct("=d")
_TICK_PLACE = _turn.size + 2 * _FACE_BYTES
_BYTES = _TICK_PLACE + _tick.size


class Note(msgspec.Struct, frozen=True):
    """Who the child is, and what it was running."""

    owner: str
    ids: tuple[str, ...] = ()
    #: How many more than these.
    more: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Note)


class Slate:
    """Two faces of shared memory behind one descriptor."""

    def __init__(self, descriptor: int) -> None:
        """Take over a descriptor that `make` made, here or in the parent."""
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _BYTES)

    @classmethod
    def make(cls) -> "Slate":
        """A clean one. It has no name, so nothing is left behind however the processes end."""
        with tempfile.TemporaryFile() as file:
            file.truncate(_BYTES)
            return cls(os.dup(file.fileno()))

    def write(self, owner: str, running: Iterable[str], count: int) -> None:
        """Note who we are and what runs here: as many of its `count` ids as fit."""
        ids = tuple(islice(running, _MOST_IDS))
        data = _encoder.encode(Note(owner, ids, count - len(ids)))
        while len(data) > _FACE_BYTES - _face.size and ids:
            ids = ids[: len(ids) // 2]  # ids of the users' own may be long
            data = _encoder.encode(Note(owner, ids, count - len(ids)))
        if len(data) > _FACE_BYTES - _face.size:
            return
        (turn,) = _turn.unpack_from(self._memory)
        place = _place(turn + 1)
        _face.pack_into(self._memory, place, len(data), zlib.crc32(data))
        self._memory[place + _face.size : place + _face.size + len(data)] = data
        _turn.pack_into(self._memory, 0, turn + 1)

    def read(self) -> Note | None:
        """The last note that is whole. None: there is none."""
        (turn,) = _turn.unpack_from(self._memory)
        for number in (turn, turn + 1):
            place = _place(number)
            length, checksum = _face.unpack_from(self._memory, place)
            data = self._memory[place + _face.size : place + _face.size + min(length, _FACE_BYTES - _face.size)]
            if data and zlib.crc32(data) == checksum:
                return _decoder.decode(data)
        return None

    def tick(self, at: float) -> None:
        """Note that the child moves, on the monotonic clock, which is the same for every process of a host."""
        _tick.pack_into(self._memory, _TICK_PLACE, at)

    def ticked(self) -> float | None:
        """When the child moved last. None: it has not said so yet."""
        (at,) = _tick.unpack_from(self._memory, _TICK_PLACE)
        return at or None

    def close(self) -> None:
        """Let go of it."""
        self._memory.close()
        os.close(self.descriptor)


def _place(turn: int) -> int:
    return _turn.size + (turn % 2) * _FACE_BYTES
