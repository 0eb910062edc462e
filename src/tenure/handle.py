"""A handle: what `submit` returns, a way to ask about one message later."""

from typing import Generic, Protocol, TypeVar

from tenure.errors import MessageNotFound
from tenure.record import Record

R_co = TypeVar("R_co", covariant=True)


class Asker(Protocol):
    """What a handle needs of its app."""

    async def record(self, id: str) -> Record | None:
        """Everything known about a message."""
        ...


class Handle(Generic[R_co]):
    """One sent message, by id."""

    __slots__ = ("_app", "duplicate", "id")

    def __init__(self, app: Asker, id: str, *, duplicate: bool = False) -> None:
        """Refer to message `id`."""
        self.id = id
        #: True: the same id or key had been sent before, and this is that message.
        self.duplicate = duplicate
        self._app = app

    async def status(self) -> Record:
        """Where the message is now; raises `MessageNotFound` when it is forgotten."""
        record = await self._app.record(self.id)
        if record is None:
            msg = f"no message {self.id} is known here: it was never sent to this place, or its record has expired"
            raise MessageNotFound(msg)
        return record

    def __repr__(self) -> str:
        """Show the id."""
        return f"<Handle {self.id}{' duplicate' if self.duplicate else ''}>"
