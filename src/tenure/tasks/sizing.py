"""Sizes: how large one message's work is, by a field of its payload or a function of the handler's own arguments.

    @app.task(size="bytes")
    async def transcode(path: str, bytes: int): ...

    @app.task(size=lambda order: len(order["lines"]))
    async def invoice(order: dict[str, Any]): ...

In whatever the task counts; what is larger should take longer. Asked by `runtime/path/learning.py` before the handler
begins, in the worker's event loop: it must not wait. What is known only later is said by `ctx.set_size`.
"""

import inspect
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from tenure.errors import BadArgument, BadTask, PayloadInvalid
from tenure.tasks.signature import Signature

logger = logging.getLogger("tenure.task")

#: A size of this or more can only be a mistake, and no journal could keep it.
LARGEST = 2**63
#: As the decorator takes it.
Size = str | Callable[..., float | None]


class Sizer:
    """Reads the size of messages of one task."""

    __slots__ = ("_decoder", "_field", "_function", "_signature", "_task")

    def __init__(self, size: Size, signature: Signature, task: str) -> None:
        """Raises `BadTask` where the handler has no such parameter."""
        self._task = task
        self._signature = signature
        self._function: Callable[..., float | None] | None = None
        self._field = ""
        given: object = size
        if isinstance(given, str):
            if given not in signature.names:
                names = ", ".join(signature.names) or "none"
                msg = f"task {task}: size={given!r} is not one of the handler's parameters, which are: {names}"
                raise BadTask(msg)
            self._field = given
            # Only that one field is read; the rest of the payload is passed over.
            kind = msgspec.defstruct("Sized", [(given, msgspec.Raw, msgspec.Raw(b"null"))])
            self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(kind)
        elif callable(given):
            self._function = _fitting(given, signature, task)
        else:
            msg = f"task {task}: size={given!r} is neither a parameter's name nor a function of the handler's arguments"
            raise BadTask(msg)

    def size_of(self, body: bytes | msgspec.Raw) -> float | None:
        """Return the size. None: there is none, or it is not valid; the handler runs anyway."""
        try:
            return checked(self._read(body))
        except (BadArgument, PayloadInvalid, msgspec.MsgspecError, UnicodeDecodeError):
            return None
        except Exception:
            logger.exception(
                "the size of a message of %s is not known: its size= function failed; the message runs anyway",
                self._task,
            )
            return None

    def _read(self, body: bytes | msgspec.Raw) -> object:
        if self._function is None:
            return msgspec.json.decode(getattr(self._decoder.decode(body), self._field))
        positional, keywords = self._signature.arguments(body)
        return self._function(*positional, **keywords)


def _fitting(function: Callable[..., Any], signature: Signature, task: str) -> Callable[..., Any]:
    """A function that could never give a size is refused now, and not logged again and again while messages run."""
    if inspect.iscoroutinefunction(function):
        msg = f"task {task}: size= must not be an async function; set a size that takes time by ctx.set_size"
        raise BadTask(msg)
    if not signature.fits(function):
        names = ", ".join(signature.names) or "none"
        msg = f"task {task}: size= cannot be called with the handler's arguments, which are: {names}"
        raise BadTask(msg)
    return function


def checked(size: object) -> float | None:
    """A size as it was given; raises `BadArgument` if it is not a size. None: not known."""
    if size is None:
        return None
    if isinstance(size, bool) or not isinstance(size, int | float) or not size >= 0:
        msg = f"size={size!r} is not a number of at least 0; nothing was changed"
        raise BadArgument(msg)
    if size >= LARGEST:
        msg = "a size must be below 2 to the 63rd; nothing was changed"
        raise BadArgument(msg)
    return float(size)
