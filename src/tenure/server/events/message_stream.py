"""The stream of one message: where it is, and each change, until it has ended.

    id: 1767225600000-5f1c2ab0
    event: update
    data: {"id": "0197…", "state": "leased", "attempt": 1, "progress": {"fraction": 0.5, "note": "half way"}, …}

The events are `update`, `attempt_ended` for each attempt that failed or was given up, and at last `ended`, which has
the data of an update. All viewers of a server share one reading of the store (`client/watching.py`).

A client that comes back with `Last-Event-ID` first gets the attempts that ended meanwhile, from the message's history,
and then where it is, unless it knows that. The id is made of the record alone, so it means the same on every server. A
client that has the ending already is answered 204, which ends an `EventSource`.
"""

import asyncio
import contextlib
import hashlib
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from tenure.client.operations.listed_message import ReasonText
from tenure.client.watching import seen_of
from tenure.message import MessageState
from tenure.record import Ending, Progress, Record
from tenure.server.events.stream import HEARTBEAT_SECONDS
from tenure.server.events.wire import RETRY_MS
from tenure.server.redaction import Redaction

_NO_LINES = bytes.maketrans(b"\r\n", b"  ")
_encode = msgspec.json.Encoder().encode


class MessageUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """Where a message is, as its stream tells it."""

    id: str
    state: MessageState
    #: Number of the run that is under way, or of the last one; 0: it has not run yet.
    attempt: int
    #: What the handler last said by `ctx.progress`.
    progress: Progress | None
    #: Why the last attempt failed, or why it is dead. Its text is shown with the scope `payload`.
    error: ReasonText | None
    #: Seconds until the next attempt, if it waits for one.
    next_try_in: float | None
    #: Unix seconds.
    finished_at: float | None
    #: What the handler returned, once it is completed; with the scope `payload`.
    result: msgspec.Raw | None


class AttemptEnded(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended, as the message's history has it."""

    id: str
    #: Unix seconds.
    at: float
    #: failed, crashed, lost, given_back, dead, redriven, cancelled
    how: str
    error: ReasonText | None


class MessageStream:
    """What one viewer of one message is sent."""

    def __init__(
        self,
        records: AsyncGenerator[Record | None],
        first: Record,
        redaction: Redaction,
        *,
        after: str = "",
        sees_payload: bool,
        sees_notes: bool,
    ) -> None:
        """Begin with `first`; more comes from `records`. `after`: the last event id that the viewer has."""
        self._records = records
        self._record = first
        self._redaction = redaction
        self._sees_payload = sees_payload
        self._sees_notes = sees_notes
        #: Endings up to here were sent, in milliseconds of wall time.
        self._until = _millis_of(after)
        self._last_id = after
        self._is_new = self._until is None
        self._ending = asyncio.Event()

    @property
    def is_told(self) -> bool:
        """Whether the viewer has everything, the ending included."""
        return self._record.is_finished and self._last_id == id_of(self._record)

    def end(self) -> None:
        """End it, with a hint when to come back."""
        self._ending.set()

    async def blocks(self) -> AsyncGenerator[bytes]:
        """Yield all blocks until the message has ended, or the stream."""
        yield b"retry: %d\n\n" % RETRY_MS
        record: Record | None = self._record
        ending = asyncio.create_task(self._ending.wait())
        coming: asyncio.Task[Record | None] | None = None
        try:
            while record is not None:
                if data := self._news(record):
                    yield data
                if record.is_finished:
                    return
                coming = coming or asyncio.create_task(_next(self._records))
                done, _ = await asyncio.wait(
                    (coming, ending), timeout=HEARTBEAT_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if ending in done:
                    return
                if coming in done:
                    record, coming = coming.result(), None
                else:
                    yield b": heartbeat\n\n"
        finally:
            tasks = [task for task in (ending, coming) if task is not None]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            with contextlib.suppress(RuntimeError):  # it is running no more
                await self._records.aclose()

    def _news(self, record: Record) -> bytes:
        """What the viewer has not got yet."""
        found = b""
        for one in record.history:
            millis = int(one.at * 1000)
            if not self._is_new and self._until is not None and millis > self._until:
                found += _block("attempt_ended", f"{millis}-", self._attempt(record, one))
        self._is_new = False
        self._until = _last_millis(record)
        id = id_of(record)
        if id != self._last_id:
            self._last_id = id
            found += _block("ended" if record.is_finished else "update", id, self._update(record))
        return found

    def _attempt(self, record: Record, one: Ending) -> bytes:
        return _encode(AttemptEnded(id=record.id, at=one.at, how=one.how, error=self._error(one.reason)))

    def _update(self, record: Record) -> bytes:
        progress, result = record.progress, record.result
        has_result = self._sees_payload and record.state is MessageState.COMPLETED and result is not None
        data = _encode(MessageUpdate(
            id=record.id, state=record.state, attempt=record.attempt,
            progress=progress if self._sees_notes or progress is None else Progress(progress.fraction),
            error=self._error(record.reason), next_try_in=record.due_in, finished_at=record.finished_at,
            result=msgspec.Raw(result) if has_result and result is not None else None,
        ))  # fmt: skip
        # A program's own result may have white space between its parts; within a text a line cannot end.
        return self._redaction.redact(data).translate(_NO_LINES) if has_result else data

    def _error(self, reason: Any) -> ReasonText | None:
        return None if reason is None else ReasonText(reason.code, reason.text if self._sees_payload else None)


def id_of(record: Record) -> str:
    """The event id of where a message is: the same on every server, and another one after each change."""
    told = hashlib.sha256(repr(seen_of(record)).encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{_last_millis(record)}-{told}"


def _last_millis(record: Record) -> int:
    return int(record.history[-1].at * 1000) if record.history else 0


def _millis_of(id: str) -> int | None:
    """The moment in an event id. None: it is none of ours."""
    text = id.partition("-")[0]
    return int(text) if "-" in id and text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


#: Of a moment in milliseconds, for a long time to come.
_DIGITS = 16


async def _next(records: AsyncGenerator[Record | None]) -> Record | None:
    return await anext(records, None)


def _block(name: str, id: str, data: bytes) -> bytes:
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id.encode(), name.encode(), data)
