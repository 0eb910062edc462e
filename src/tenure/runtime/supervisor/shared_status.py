"""A status: memory that a child worker shares with its supervisor, and in which it notes what it runs.

The child may die at any moment, also in the middle of a write. So there are two copies: the child writes the copy that
is not in use, with a checksum, and then switches to it. After a death the supervisor reads the last complete one.

Written by `supervisor_link.py` in the child, read by `worker_process.py` in the supervisor.
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


class RunningNote(msgspec.Struct, frozen=True):
    """The child's owner, and what it was running."""

    owner: str
    ids: tuple[str, ...] = ()
    #: How many more than these.
    more: int = 0


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(RunningNote)


class SharedStatus:
    """Two copies of a note in shared memory, behind one descriptor."""

    def __init__(self, descriptor: int) -> None:
        """Take over a descriptor that `make` made, here or in the parent."""
        self.descriptor = descriptor
        self._memory = mmap.mmap(descriptor, _BYTES)

    @classmethod
    def make(cls) -> "SharedStatus":
        """Make an empty one. It has no name, so nothing is left behind however the processes end."""
        with tempfile.TemporaryFile() as file:
            file.truncate(_BYTES)
            return cls(os.dup(file.fileno()))

    def write(self, owner: str, running: Iterable[str], count: int) -> None:
        """Note who we are and what runs here: as many of its `count` ids as fit."""
        ids = tuple(islice(running, _MOST_IDS))
        data = _encoder.encode(RunningNote(owner, ids, count - len(ids)))
        while len(data) > _FACE_BYTES - _face.size and ids:
            ids = ids[: len(ids) // 2]  # ids of the users' own may be long
            data = _encoder.encode(RunningNote(owner, ids, count - len(ids)))
        if len(data) > _FACE_BYTES - _face.size:
            return
        (turn,) = _turn.unpack_from(self._memory)
        place = _place(turn + 1)
        _face.pack_into(self._memory, place, len(data), zlib.crc32(data))
        self._memory[place + _face.size : place + _face.size + len(data)] = data
        _turn.pack_into(self._memory, 0, turn + 1)

    def read(self) -> RunningNote | None:
        """The last complete note. None: there is none."""
        (turn,) = _turn.unpack_from(self._memory)
        for number in (turn, turn + 1):
            place = _place(number)
            length, checksum = _face.unpack_from(self._memory, place)
            data = self._memory[place + _face.size : place + _face.size + min(length, _FACE_BYTES - _face.size)]
            if data and zlib.crc32(data) == checksum:
                return _decoder.decode(data)
        return None

    def tick(self, at: float) -> None:
        """Note that the child responds, on the monotonic clock, which is the same for every process of a host."""
        _tick.pack_into(self._memory, _TICK_PLACE, at)

    def ticked(self) -> float | None:
        """The child's last tick. None: there was none yet."""
        (at,) = _tick.unpack_from(self._memory, _TICK_PLACE)
        return at or None

    def close(self) -> None:
        """Release it."""
        self._memory.close()
        os.close(self.descriptor)


def _place(turn: int) -> int:
    return _turn.size + (turn % 2) * _FACE_BYTES
