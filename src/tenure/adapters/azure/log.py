"""The log for people: one line of JSON for each message that ended, one file a day.

`message-logs/{service}/{date}/processed.jsonl`, by the UTC day on which it ended. Each batch of the journal is one
append; an append blob takes 50 000 of them, so the day goes on in `processed-1.jsonl`, and so on. Days are kept for a
week. The log is for reading: nothing is decided by it, so a log that cannot be written is told of and holds nothing up:
its lines wait, up to a bound, and follow later. After a reply that was lost they are written again: a line may stand
there twice. What still waits when the process ends is in the journal only.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError

from tenure.adapters.azure import faults
from tenure.adapters.azure.session import Session
from tenure.errors import TenureError
from tenure.event import Event, EventKind
from tenure.text.plural import plural

logger = logging.getLogger("tenure.azure")

CONTAINER = "message-logs"
KEPT_DAYS = 7
#: The service takes so much in one append.
_MOST_BYTES = 3_500_000
#: So many bytes of lines wait for a log that is away.
_MOST_WAITING = 4_000_000
#: So long nothing is tried after a failure: it may take long to fail.
_AWAY_SECONDS = 10.0
#: What counts as an end.
_ENDS = frozenset({EventKind.COMPLETED, EventKind.DUPLICATE, EventKind.DEAD})
_FULL = "BlockCountExceedsLimit"
_encode = msgspec.json.Encoder().encode


class ProcessedLog:
    """Appends to the file of the day."""

    def __init__(self, session: Session) -> None:
        """Stand on `session`; written only if its options name a service."""
        self._session = session
        #: The file of each day that is written now, by its number.
        self._numbers: defaultdict[str, int] = defaultdict(int)
        #: Lines that are not written yet, each with its day.
        self._waiting: deque[tuple[str, bytes]] = deque()
        self._size = 0
        self._dropped = 0
        #: Whether it was said that the log cannot be written.
        self._is_away = False
        self._not_before = 0.0
        self._is_writing = False

    async def write(self, events: Sequence[Event]) -> None:
        """Append a line for each message that ended. Never raises for what the service says."""
        if not self._session.options.log:
            return
        for event in events:
            if event.kind in _ENDS:
                self._keep(_day(event.at), self._line(event))
        if self._is_writing or self._session.clock.monotonic() < self._not_before:
            return  # whoever writes now goes on until nothing waits
        self._is_writing = True
        try:
            while self._waiting:
                await self._write_some()
        except (TenureError, HttpResponseError) as error:
            self._not_before = self._session.clock.monotonic() + _AWAY_SECONDS
            if not self._is_away:  # once an outage
                self._is_away = True
                many = plural(len(self._waiting), "line")
                logger.warning("could not write %s to the processing log yet: %s; trying again", many, error)
        finally:
            self._is_writing = False

    def _keep(self, day: str, line: bytes) -> None:
        self._waiting.append((day, line))
        self._size += len(line)
        while self._size > _MOST_WAITING:
            self._size -= len(self._waiting.popleft()[1])
            self._dropped += 1

    async def _write_some(self) -> None:
        """The oldest lines of one day, as many as one append takes."""
        day, some, size = self._waiting[0][0], list[bytes](), 0
        for other, line in self._waiting:
            if other != day or (some and size + len(line) > _MOST_BYTES):
                break
            some.append(line)
            size += len(line)
        for _ in some:
            self._waiting.popleft()
        try:
            await self._append(day, b"".join(some))
        except BaseException:
            self._waiting.extendleft((day, line) for line in reversed(some))
            raise
        self._size -= size
        if self._is_away:
            self._is_away = False
            logger.warning("writing the processing log works again")
        if self._dropped:
            many = plural(self._dropped, "line")
            logger.warning("left %s out of the log while it could not be written", many)
            self._dropped = 0

    async def prune(self) -> None:
        """Drop the files of days that are over for a week."""
        options = self._session.options
        if not options.log:
            return
        today = datetime.fromtimestamp(self._session.timeline.wall(), UTC)
        oldest = _day((today - timedelta(days=KEPT_DAYS)).timestamp())
        container = self._container()

        async def names() -> list[str]:
            return [str(name) async for name in container.list_blob_names(name_starts_with=f"{options.log}/")]

        try:
            for name in await self._session.call("listing the log", names):
                if name.split("/")[1] < oldest:
                    blob = container.get_blob_client(name)
                    await self._session.call("dropping an old log", blob.delete_blob)
        except (TenureError, HttpResponseError) as error:
            logger.warning("old days of the log were not dropped: %s", error)

    async def _append(self, day: str, data: bytes) -> None:
        while True:
            number = self._numbers[day]
            ending = f"-{number}" if number else ""
            blob = self._container().get_blob_client(f"{self._session.options.log}/{day}/processed{ending}.jsonl")
            try:
                await self._append_to(blob, data)
            except HttpResponseError as error:
                if faults.code_of(error) != _FULL:
                    raise
                self._numbers[day] += 1
            else:
                return

    async def _append_to(self, blob: Any, data: bytes) -> None:
        session = self._session
        try:
            await session.call("appending to the log", lambda: blob.append_block(data))
        except (TenureError, HttpResponseError) as error:
            cause = error.__cause__ if isinstance(error, TenureError) else error
            if cause is None or faults.code_of(cause) not in ("BlobNotFound", "ContainerNotFound"):
                raise
            if faults.code_of(cause) == "ContainerNotFound":
                if not session.may_create:
                    raise
                await session.create(lambda: self._container().create_container())
            # Not over a file that somebody else has begun meanwhile.
            await session.create(lambda: blob.create_append_blob(match_condition=MatchConditions.IfMissing))
            await session.call("appending to the log", lambda: blob.append_block(data))

    def _container(self) -> Any:
        return self._session.clients.blob_service.get_container_client(CONTAINER)

    def _line(self, event: Event) -> bytes:
        fields = {
            "message_id": event.message_id,
            "container": self._session.options.log,
            "outcome": event.kind.value,
            "processed_at": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="milliseconds"),
            "queue": event.queue,
            "task": event.task,
            "attempt": event.attempt,
            "seconds": event.seconds,
            "owner": event.owner,
        }
        return _encode({name: value for name, value in fields.items() if value is not None}) + b"\n"


def _day(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")
