"""A handler's stack: where a handler that runs is now, as the worker that holds its message sees it.

File, line and function of each frame, and nothing of its data: no local variables, no arguments, no source. Asked for
by a post on the board (`notice.PostKind.STACK`), answered by `runtime/stacks/`, kept for a minute as a key-value, read
by `client/operations/stack.py`.
"""

from enum import StrEnum

import msgspec

from tenure.key_value import MOST_BYTES, name_of
from tenure.record import Progress

#: The kind of key-value that an answer is.
ANSWER_KIND = "stack.answer"
#: An answer is kept for this long: several people may read it.
ANSWER_SECONDS = 60.0
#: A question lives so long, unless the asker withdraws it.
QUESTION_SECONDS = 10.0

_LONGEST_FILE = 400
_LONGEST_FUNCTION = 200
#: A deeper stack is cut in the middle: where it began and where it is now say most.
_OUTER_FRAMES, _INNER_FRAMES = 20, 60
#: Of what a handler waits for side by side, such as the tasks of an `asyncio.gather`.
MOST_BRANCHES = 8


class FrameKind(StrEnum):
    """Whose code a frame is."""

    USER = "user"
    #: Python itself, or an installed package.
    LIBRARY = "library"
    #: Tenure's, and what Tenure called to get to the handler.
    TENURE = "tenure"


class StackFrame(msgspec.Struct, frozen=True):
    """One call that is under way."""

    file: str
    #: None: it cannot be known.
    line: int | None
    function: str
    kind: FrameKind = FrameKind.USER


class StackBranch(msgspec.Struct, frozen=True):
    """Something that runs side by side with others, such as a task of an `asyncio.gather`."""

    name: str
    frames: tuple[StackFrame, ...]


class FrameStack(msgspec.Struct, frozen=True):
    """Frames, the outermost first, and what the innermost waits for side by side."""

    frames: tuple[StackFrame, ...] = ()
    #: This many frames were cut out of the middle.
    left_out: int = 0
    branches: tuple[StackBranch, ...] = ()


class RunPhase(StrEnum):
    """How far a message is in the worker that holds it."""

    #: Its task runs as often as it may, or no child process is free.
    WAITING = "waiting"
    #: Its body, which was sent apart, is being fetched.
    FETCHING = "fetching"
    #: Its child process starts, or imports the app.
    STARTING = "starting"
    RUNNING = "running"
    #: It was asked to end (cancelled, lease lost, over `max_hold`, worker stopping) and has not ended yet.
    ENDING = "ending"
    #: Its handler has ended, and is being settled.
    SETTLING = "settling"


class Place(StrEnum):
    """Where a handler runs."""

    LOOP = "loop"
    THREAD = "thread"
    PROCESS = "process"
    #: Alone in a child process, because its workers died while it ran.
    SOLO = "solo"


class Holds(StrEnum):
    """What a handler keeps from everything else in its process."""

    #: The worker's event loop: it blocks in async code, and no other handler of the loop moves.
    LOOP = "loop"
    #: The GIL: it is in a call that does not let go of it, and no other thread of its process moves.
    GIL = "gil"


class HandlerStack(msgspec.Struct, frozen=True, kw_only=True):
    """Where one message is in its worker, and what its handler does at this moment."""

    id: str
    queue: str
    #: None: it cannot be read.
    task: str | None
    #: The worker that holds it.
    owner: str
    #: Wall time by the store's clock.
    taken_at: float
    phase: RunPhase
    #: None: it does not run.
    runs_in: Place | None = None
    #: Of the process in which its handler runs.
    pid: int | None = None
    #: None: its handler has not begun.
    running_seconds: float | None = None
    stack: FrameStack = FrameStack()
    holds: Holds | None = None
    #: For this long, as far as is known.
    holds_seconds: float | None = None
    #: The id of another message whose handler blocks the worker's event loop, so that this one does not move.
    held_up_by: str | None = None
    #: What else there is to say, such as why there are no frames. One sentence, or empty.
    note: str = ""
    #: Resident memory of the process in which its handler runs. None: the system does not say.
    memory_bytes: int | None = None
    #: What the handler said last by `ctx.progress`, in this run.
    progress: Progress | None = None
    #: This long ago.
    progress_age_seconds: float | None = None
    #: The text of `progress` was left out, because the one who asked may not see payloads.
    redacted: bool = False


def question_name(id: str) -> str:
    """Return the name of the question about a message."""
    return name_of(id)


def bounded(frames: list[StackFrame], branches: tuple[StackBranch, ...] = ()) -> FrameStack:
    """Keep as many frames as can be read, the outermost first."""
    left_out = max(0, len(frames) - _OUTER_FRAMES - _INNER_FRAMES)
    if left_out:
        frames = frames[:_OUTER_FRAMES] + frames[-_INNER_FRAMES:]
    return FrameStack(tuple(map(_shortened, frames)), left_out, branches[:MOST_BRANCHES])


def encoded(stack: HandlerStack) -> bytes:
    """Encode at most `key_value.MOST_BYTES`. What is too much goes: branches first, then the outer frames."""
    data = msgspec.json.encode(stack)
    while len(data) > MOST_BYTES:
        seen = stack.stack
        if seen.branches:
            seen = msgspec.structs.replace(seen, branches=seen.branches[:-1])
        elif len(seen.frames) > 1:
            keep = len(seen.frames) // 2
            seen = FrameStack(seen.frames[-keep:], seen.left_out + len(seen.frames) - keep)
        else:
            stack = msgspec.structs.replace(stack, progress=None, note="")
        stack = msgspec.structs.replace(stack, stack=seen)
        data = msgspec.json.encode(stack)
    return data


def decoded(data: bytes) -> HandlerStack | None:
    """The stored answer. None: it cannot be read, as after an upgrade of one side."""
    try:
        return msgspec.json.decode(data, type=HandlerStack)
    except msgspec.MsgspecError:
        return None


def _shortened(frame: StackFrame) -> StackFrame:
    file, function = frame.file[-_LONGEST_FILE:], frame.function[:_LONGEST_FUNCTION]
    return msgspec.structs.replace(frame, file=_plain(file), function=_plain(function))


def _plain(text: str) -> str:
    """Names of files may be no UTF-8: lone surrogates in Python."""
    return text.encode("utf-8", "backslashreplace").decode()
