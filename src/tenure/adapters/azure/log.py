"""The log for people: one line of JSON for each message that ended, one file a day.

`message-logs/{service}/{date}/processed.jsonl`, by the UTC day on which it ended. Each batch of the journal is one
append; an append blob takes 50 000 of them, so the day goes on in `processed-1.jsonl`, and so on. Days are kept for a
week. The log is for reading: nothing is decided by it, so a log that cannot be written is told of and holds nothing up.
"""

import logging
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError

from tenure.adapters.azure import faults
from tenure.adapters.azure.store import Store
from tenure.errors import TenureError
from tenure.event import Event, EventKind

logger = logging.getLogger("tenure.azure")

CONTAINER = "message-logs"
KEPT_DAYS = 7
#: The service takes so much in one append.
_MOST_BYTES = 3_500_000
#: What counts as an end.
_ENDS = frozenset({EventKind.COMPLETED, EventKind.DUPLICATE, EventKind.DEAD})
_FULL = "BlockCountExceedsLimit"
_encode = msgspec.json.Encoder().encode


class ProcessedLog:
    """Appends to the file of the day."""

    def __init__(self, store: Store) -> None:
        """Stand on `store`; written only if its options name a service."""
        self._store = store
        #: The file of each day that is written now, by its number.
        self._numbers: defaultdict[str, int] = defaultdict(int)

    async def write(self, events: Sequence[Event]) -> None:
        """Append a line for each message that ended. Never raises for what the service says."""
        if not self._store.options.log:
            return
        days: defaultdict[str, list[bytes]] = defaultdict(list)
        for event in events:
            if event.kind in _ENDS:
                days[_day(event.at)].append(self._line(event))
        for day, lines in days.items():
            for piece in _pieces(lines):
                try:
                    await self._append(day, piece)
                except (TenureError, HttpResponseError) as error:
                    logger.warning("%d lines of the log of %s were not written: %s", piece.count(b"\n"), day, error)

    async def prune(self) -> None:
        """Drop the files of days that are over for a week."""
        options = self._store.options
        if not options.log:
            return
        today = datetime.fromtimestamp(self._store.clock.wall(), UTC)
        oldest = _day((today - timedelta(days=KEPT_DAYS)).timestamp())
        container = self._container()

        async def names() -> list[str]:
            return [str(name) async for name in container.list_blob_names(name_starts_with=f"{options.log}/")]

        try:
            for name in await self._store.call("listing the log", names):
                if name.split("/")[1] < oldest:
                    blob = container.get_blob_client(name)
                    await self._store.call("dropping an old log", blob.delete_blob)
        except (TenureError, HttpResponseError) as error:
            logger.warning("old days of the log were not dropped: %s", error)

    async def _append(self, day: str, data: bytes) -> None:
        while True:
            number = self._numbers[day]
            ending = f"-{number}" if number else ""
            blob = self._container().get_blob_client(f"{self._store.options.log}/{day}/processed{ending}.jsonl")
            try:
                await self._append_to(blob, data)
            except HttpResponseError as error:
                if faults.code_of(error) != _FULL:
                    raise
                self._numbers[day] += 1
            else:
                return

    async def _append_to(self, blob: Any, data: bytes) -> None:
        store = self._store
        try:
            await store.call("appending to the log", lambda: blob.append_block(data))
        except (TenureError, HttpResponseError) as error:
            cause = error.__cause__ if isinstance(error, TenureError) else error
            if cause is None or faults.code_of(cause) not in ("BlobNotFound", "ContainerNotFound"):
                raise
            if faults.code_of(cause) == "ContainerNotFound":
                await store.create(lambda: self._container().create_container())
            # Not over a file that somebody else has begun meanwhile.
            await store.create(lambda: blob.create_append_blob(match_condition=MatchConditions.IfMissing))
            await store.call("appending to the log", lambda: blob.append_block(data))

    def _container(self) -> Any:
        return self._store.clients.blob_service.get_container_client(CONTAINER)

    def _line(self, event: Event) -> bytes:
        fields = {
            "message_id": event.message_id,
            "container": self._store.options.log,
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


def _pieces(lines: list[bytes]) -> list[bytes]:
    pieces: list[bytes] = []
    piece = bytearray()
    for line in lines:
        if piece and len(piece) + len(line) > _MOST_BYTES:
            pieces.append(bytes(piece))
            piece.clear()
        piece += line
    return [*pieces, bytes(piece)] if piece else pieces
