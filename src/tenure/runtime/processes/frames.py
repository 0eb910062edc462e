"""The frames between a worker and a child process, over a socket pair.

A frame is four bytes of length, then msgpack of one of the structs below. Nothing received can run code (no pickle),
and no frame is larger than `FRAME_LIMIT`. Both ends are the same Tenure, because the child gets its parent's
`sys.path`; so there are no versions here.

Used by `job_channel.py` (the parent) and `child_main.py`.
"""

import asyncio
import struct
from typing import Any

import msgspec

from tenure.errors import BodyTooLarge, TenureError
from tenure.handler_stack import FrameStack
from tenure.record import Progress
from tenure.runtime.processes.import_path import Locator
from tenure.verdict import Dead, Retried, Snoozed

FRAME_LIMIT = 64 * 1024 * 1024

_header = struct.Struct(">I")
_encoder = msgspec.msgpack.Encoder()


class Frame(msgspec.Struct, frozen=True, tag=True):
    """Any frame."""


# -- from the parent -------------------------------------------------------------------------------


class Hello(Frame, frozen=True):
    """The first frame: what the child cannot get by inheritance."""

    #: The parent's `sys.argv`, for modules that look at it while they are imported.
    arguments: list[str]


class RunningMark(Frame, frozen=True):
    """The state of the lease: comes before each job, and again when it changes."""

    #: On the monotonic clock, which is the same for every process of a host.
    deadline: float
    lease_lost: bool
    stopping: bool
    expected_end: float | None = None


class Job(Frame, frozen=True):
    """A message to run."""

    locator: Locator
    envelope: bytes
    attempt: int
    fence: int
    send_id: str


class ChildReply(Frame, frozen=True):
    """To the question with that number."""

    number: int
    value: bytes | None = None


class Refusal(Frame, frozen=True):
    """The question with that number ended in an error; `code` is that of a `TenureError`, or empty."""

    number: int
    code: str
    text: str


class StackQuestion(Frame, frozen=True):
    """Asks where the handler is now."""


# -- from the child --------------------------------------------------------------------------------


class ChildStarted(Frame, frozen=True):
    """The task is found and its app's lifespan entered; from here on a failure is one of the message."""

    #: The ident of the thread that runs it.
    thread: int


class Unloadable(Frame, frozen=True):
    """The task could not be found, its module not be imported, or its app's lifespan not be entered.

    The message was not looked at.
    """

    text: str
    traceback: str


class RunCompleted(Frame, frozen=True):
    """The handler returned. Hand-offs are with the parent already."""

    result: bytes


class RunRetried(Frame, frozen=True):
    """The attempt failed."""

    verdict: Retried


class RunSnoozed(Frame, frozen=True):
    """The handler asked to be run later."""

    verdict: Snoozed


class RunDead(Frame, frozen=True):
    """The message is for the dead letters."""

    verdict: Dead


class StackTold(Frame, frozen=True):
    """The stack of the handler; it answers the oldest open question."""

    stack: FrameStack


class ProgressNote(Frame, frozen=True):
    """The progress of the handler."""

    progress: Progress


class TouchQuestion(Frame, frozen=True):
    """Asks to renew the lease."""

    number: int
    seconds: float | None


class SizeQuestion(Frame, frozen=True):
    """The size of the work."""

    number: int
    size: float | None


class CheckpointQuestion(Frame, frozen=True):
    """Asks to keep data for the next run."""

    number: int
    data: bytes


class LoadQuestion(Frame, frozen=True):
    """Asks for what an earlier run kept."""

    number: int


class SubmitQuestion(Frame, frozen=True):
    """Asks to hand on; the answer is the id, in UTF-8."""

    number: int
    task: str
    queue: str
    body: bytes
    options: dict[str, Any]
    #: The options that are a `datetime`, as ISO text: one without a time zone must stay one, to be refused as such.
    moments: dict[str, str]
    #: The task has no queue of its own.
    follows_client: bool


ToChild = Hello | Job | RunningMark | ChildReply | Refusal | StackQuestion
Question = TouchQuestion | SizeQuestion | CheckpointQuestion | LoadQuestion | SubmitQuestion
Ending = RunCompleted | RunRetried | RunSnoozed | RunDead
FromChild = ChildStarted | Unloadable | Ending | ProgressNote | StackTold | Question

to_child: msgspec.msgpack.Decoder[ToChild] = msgspec.msgpack.Decoder(ToChild)
from_child: msgspec.msgpack.Decoder[FromChild] = msgspec.msgpack.Decoder(FromChild)


class WireBroken(Exception):
    """Bytes came that are no frame: something else wrote to the socket."""


def encode(frame: Frame) -> bytes:
    """The bytes of a frame; raises `BodyTooLarge`."""
    data = _encoder.encode(frame)
    if len(data) > FRAME_LIMIT:
        limit = FRAME_LIMIT // (1024 * 1024)
        msg = f"{len(data)} bytes are more than the {limit} MiB that go between a worker and a child process"
        raise BodyTooLarge(msg)
    return _header.pack(len(data)) + data


async def read(reader: asyncio.StreamReader) -> bytes | None:
    """The next frame's bytes. None: the other side is gone, perhaps in the middle of a frame."""
    try:
        (length,) = _header.unpack(await reader.readexactly(_header.size))
        if length > FRAME_LIMIT:
            msg = f"a frame of {length} bytes was announced"
            raise WireBroken(msg)
        return await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def error_of(refusal: Refusal) -> Exception:
    """The error that the parent met, as the handler would have met it in the worker's own process."""
    kinds = [TenureError]
    for kind in kinds:  # grows as it goes: the whole tree
        if kind.code == refusal.code:
            return kind(refusal.text)
        kinds += kind.__subclasses__()
    return RuntimeError(refusal.text)
