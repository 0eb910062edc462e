"""The steps of deduplication; the public classes are in `message_deduplication.py` and `sync.py`.

Two tiers. What was done lately is known to this process (bounded by number and age); everything is in the store, one
record a key. A claim is a record too: `once` inserts it under a condition, so of many who try, one is first. It
lapses, so that the death of its holder does not block the key; the worker that takes it over replaces exactly the
record it saw.
"""

import hashlib
import logging
import math
import os
import threading
from typing import Any, Literal, TypeVar

import msgspec

from tenure.clock import SYSTEM_CLOCK, Clock
from tenure.errors import BadArgument, BrokerUnavailable, KeyConflict, LeaseLost, TenureError
from tenure.rules.cloud_errors import AnswerKind, read_answer
from tenure.standalone.seen import FinishedRecords
from tenure.standalone.steps import Steps
from tenure.standalone.stores import BlobStore, Found, MemoryStore, Store
from tenure.standalone.turn import CACHE_SECONDS, DeduplicationRecord, Turn, TurnState
from tenure.text.plural import plural

logger = logging.getLogger("tenure.standalone")

T = TypeVar("T")

KEEP_SECONDS = 7 * 86_400.0
CLAIM_SECONDS = 300.0
_UNTIL_FIXED = " (this goes on until it is fixed: make the container or table, or grant access to it)"
#: How often another writer may be faster before its record counts.
_LAPS = 5


class Deduplicating:
    """Remembers what was done, for one service."""

    def __init__(  # noqa: PLR0913 - named settings, each with a default
        self,
        container_name: str,
        blob_container_client: Any = None,
        *,
        store: Store | None = None,
        on_store_failure: Literal["closed", "open"] = "closed",
        keep_seconds: float = KEEP_SECONDS,
        claim_seconds: float = CLAIM_SECONDS,
        cache_seconds: float = CACHE_SECONDS,
        cache_records: int = 10_000,
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        """Deduplicate for a service. Without a container client or a store, only within this process.

        `keep_seconds`: how long finished work is remembered; longer than a message can stay in its queue.
        `claim_seconds`: how long a turn lasts if its holder dies. `on_store_failure`: "closed" raises, "open" takes the
        message for new.
        """
        if on_store_failure not in ("closed", "open"):
            msg = f"on_store_failure={on_store_failure!r} is not allowed; it takes 'closed' or 'open'"
            raise BadArgument(msg)
        for name, seconds in (("keep_seconds", keep_seconds), ("claim_seconds", claim_seconds)):
            if not 0.0 < seconds < math.inf:
                msg = f"{name}={seconds!r} is not allowed; it takes seconds, more than 0"
                raise BadArgument(msg)
        if store is None:
            store = MemoryStore(clock=clock) if blob_container_client is None else BlobStore(blob_container_client)
        self.container_name = container_name
        self.blob_container_client = blob_container_client
        self.duplicates_detected = 0
        #: Looked like duplicates by their id, and had another payload: refused by `KeyConflict`.
        self.false_positives = 0
        self.store_failures = 0
        self._store = store
        self._is_open = on_store_failure == "open"
        self._keep = keep_seconds
        self._claim = claim_seconds
        self._clock = clock
        self._seen = FinishedRecords(min(cache_seconds, keep_seconds), cache_records, clock)
        self._lock = threading.Lock()

    # -- done or not -------------------------------------------------------------------------------

    def check_steps(self, message_id: str, correlation_id: str | None) -> Steps[tuple[bool, str | None]]:
        """Whether it was done, and who says so."""
        _refuse_no_id(message_id)
        where = "in this process"
        record = self._seen.get(message_id)
        if record is None:
            about = self._made(message_id, correlation_id, None, "running", self._claim)
            record = yield from self._ask(self._look(message_id), None, "nothing was looked up", about)
            if record is None or record.status != "processed" or record.is_expired(self._clock.wall()):
                return False, None
            where = "in the store"
            self._seen.add(record)
        reason = f"duplicate: done {self._age(record)} ago, known {where}"
        return True, self._detect(message_id, reason, correlation_id, record.payload_hash)

    def _look(self, message_id: str) -> Steps[DeduplicationRecord | None]:
        return _record((yield from self._store.read(self._key(message_id))))

    def mark_steps(self, message_id: str, correlation_id: str | None, payload_hash: str | None) -> Steps[None]:
        """Remember that it was done."""
        record = self._made(message_id, correlation_id, payload_hash, "processed", self._keep)
        what = f"{message_id} was done, but that was not recorded"
        yield from self._ask(self._mark(record), None, what, record)
        self._seen.add(record)
        self._tell_processed(record)

    def _mark(self, record: DeduplicationRecord) -> Steps[None]:
        key, body = self._key(record.message_id), msgspec.json.encode(record)
        for _ in range(_LAPS):
            if (yield from self._store.add(key, body, self._keep)) is not None:
                return
            found = yield from self._store.read(key)
            there = _record(found)
            if found is None or there is None:
                continue
            if there.status == "processed" and not there.is_expired(self._clock.wall()):
                return
            if (yield from self._store.swap(key, body, found.tag, self._keep)) is not None:
                return
        raise RuntimeError("too many concurrent changes to its record")

    # -- once --------------------------------------------------------------------------------------

    def claim_steps(self, message_id: str, correlation_id: str | None, payload_hash: str | None) -> Steps[Turn]:
        """Take the turn, if it is free. Raises `KeyConflict` where the same id had another payload."""
        _refuse_no_id(message_id)
        record = self._seen.get(message_id)
        if record is not None:
            turn = Turn(TurnState.DONE, record)
        else:
            mine = self._made(message_id, correlation_id, payload_hash, "running", self._claim)
            # A store that is away, with "open": no store is asked, and nothing can be written at the end.
            unasked = Turn(TurnState.FIRST, mine)
            turn = yield from self._ask(self._take(mine), unasked, f"{message_id} was not begun", mine)
        if not turn.is_first:
            self._refuse_other_payload(turn.record, message_id, payload_hash)
            if turn.is_done:
                self._seen.add(turn.record)
            self._detect(message_id, f"duplicate: {turn.state}", correlation_id, payload_hash)
        return turn

    def _take(self, mine: DeduplicationRecord) -> Steps[Turn]:
        key, body = self._key(mine.message_id), msgspec.json.encode(mine)
        there = mine
        for _ in range(_LAPS):
            tag = yield from self._store.add(key, body, self._keep)
            if tag is not None:
                return Turn(TurnState.FIRST, mine, tag)
            found = yield from self._store.read(key)
            read = _record(found)
            if found is None or read is None:
                continue
            there = read
            if there.token == mine.token:  # the reply to our own insert was lost on its way
                return Turn(TurnState.FIRST, mine, found.tag)
            if not there.is_expired(self._clock.wall()):
                return Turn(TurnState.DONE if there.status == "processed" else TurnState.RUNNING, there)
            tag = yield from self._store.swap(key, body, found.tag, self._keep)
            if tag is not None:
                return Turn(TurnState.FIRST, mine, tag)
        return Turn(TurnState.RUNNING, there)

    def renew_steps(self, turn: Turn) -> Steps[None]:
        """The turn lasts `claim_seconds` from now. Raises `LeaseLost`."""
        if turn.is_first and turn._tag is not None:  # noqa: SLF001 - its own
            fresh = msgspec.structs.replace(turn.record, timestamp=self._clock.wall())
            yield from self._replace(turn, fresh, "its turn was not extended")

    def seal_steps(self, turn: Turn) -> Steps[None]:
        """Mark the message as done. Raises `LeaseLost` if the turn lapsed and another worker took it."""
        if not turn.is_first:
            return
        now = self._clock.wall()
        done = msgspec.structs.replace(turn.record, status="processed", timestamp=now, ttl_seconds=self._keep)
        if turn._tag is not None:  # noqa: SLF001
            yield from self._replace(turn, done, "it was done, but that was not recorded")
        self._seen.add(done)
        self._tell_processed(done)

    def _replace(self, turn: Turn, record: DeduplicationRecord, what: str) -> Steps[None]:
        key, body, seen = self._key(record.message_id), msgspec.json.encode(record), str(turn._tag)  # noqa: SLF001
        tag = yield from self._ask(self._put(key, body, seen, record), seen, f"{record.message_id}: {what}", record)
        if tag is None:
            msg = (
                f"the turn for {record.message_id} lapsed after {self._claim:g} s and another worker took it: "
                "it may be done twice. Raise claim_seconds, or renew the turn"
            )
            raise LeaseLost(msg)
        turn.record, turn._tag = record, tag  # noqa: SLF001

    def _put(self, key: str, body: bytes, seen: str, record: DeduplicationRecord) -> Steps[str | None]:
        tag = yield from self._store.swap(key, body, seen, self._keep)
        if tag is not None:
            return tag
        found = yield from self._store.read(key)
        # Ours, if only the reply was lost: the record there is the one we wrote.
        return found.tag if found is not None and _record(found) == record else None

    def release_steps(self, turn: Turn) -> Steps[None]:
        """Release the turn of a failed try. If the store cannot be reached, the turn lapses by itself."""
        if not turn.is_first or turn._tag is None:  # noqa: SLF001
            return
        try:
            yield from self._store.drop(self._key(turn.record.message_id), turn._tag)  # noqa: SLF001
        except Exception as error:  # noqa: BLE001 - the handler's own error is on its way, and matters more
            self.store_failures += 1
            extra = {"event_type": "message_turn_kept", **turn.record.log_fields}
            sentence = "the turn for %s could not be released: %s; it lapses"
            logger.warning(sentence, turn.record.message_id, error, extra=extra)

    def prune_steps(self) -> Steps[int]:
        """Remove the records of this service that are older than `keep_seconds`, and than a turn; how many."""
        before = self._clock.wall() - max(self._keep, self._claim)
        removed = yield from self._ask(self._store.prune(f"{self.container_name}/", before), 0, "nothing was removed")
        extra = {"event_type": "message_log_pruned", "container": self.container_name, "removed": removed}
        logger.info("removed %s of %s", plural(removed, "old record"), self.container_name, extra=extra)
        return removed

    # -- numbers -----------------------------------------------------------------------------------

    def get_stats(self) -> dict[str, Any]:
        """The counts; forgets what is over."""
        removed = self._seen.prune()
        return {
            "container": self.container_name,
            "duplicates_detected": self.duplicates_detected,
            "cache_size": len(self._seen),
            "expired_removed": removed,
            "store_failures": self.store_failures,
        }

    def log_stats(self) -> None:
        """Log the counts."""
        logger.info("message deduplication statistics", extra=self.get_stats())

    # -- inside ------------------------------------------------------------------------------------

    def _ask(self, steps: Steps[T], otherwise: T, what: str, about: DeduplicationRecord | None = None) -> Steps[T]:
        """Ask the store, perhaps `about` a message. Where it fails: raise, or go on as if it had said `otherwise`."""
        try:
            return (yield from steps)
        except TenureError:
            raise
        except Exception as error:
            with self._lock:
                self.store_failures += 1
            answer = read_answer(error)
            is_refused = answer.kind is AnswerKind.REFUSED
            why = f"{answer.text.rstrip('.')}{_UNTIL_FIXED if is_refused else ''}"
            if not self._is_open:
                msg = f"the store of {self.container_name} cannot be asked: {why}; {what}"
                raise BrokerUnavailable(msg, outcome_unknown=not is_refused) from error
            fields = {"container": self.container_name} if about is None else about.log_fields
            extra = {"event_type": "message_store_failed", **fields}
            sentence = "the store of %s cannot be asked: %s; going on without it"
            logger.warning(sentence, self.container_name, why, extra=extra)
            return otherwise

    def _tell_processed(self, record: DeduplicationRecord) -> None:
        extra = {"event_type": "message_processed", **record.log_fields}
        logger.debug("%s is processed", record.message_id, extra=extra)

    def _detect(self, message_id: str, reason: str, correlation_id: str | None, payload_hash: str | None) -> str:
        reason = f"{reason} (correlation: {correlation_id})" if correlation_id else reason
        with self._lock:
            self.duplicates_detected += 1
        extra = {
            "event_type": "duplicate_detected",
            "message_id": message_id,
            "correlation_id": correlation_id,
            "payload_hash": payload_hash,
            "container": self.container_name,
        }
        logger.warning("%s is a %s", message_id, reason, extra=extra)
        return reason

    def _made(
        self, message_id: str, correlation_id: str | None, payload_hash: str | None, status: Any, ttl: float
    ) -> DeduplicationRecord:
        _refuse_no_id(message_id)
        return DeduplicationRecord(
            message_id,
            correlation_id or "",
            self._clock.wall(),
            ttl,
            payload_hash,
            status,
            os.urandom(8).hex(),
            self.container_name,
        )

    def _refuse_other_payload(self, there: DeduplicationRecord, message_id: str, payload_hash: str | None) -> None:
        if None not in (there.payload_hash, payload_hash) and there.payload_hash != payload_hash:
            with self._lock:
                self.false_positives += 1
            msg = f"{message_id} was sent before with another payload; it was not run, and nothing was recorded"
            raise KeyConflict(msg)

    def _key(self, message_id: str) -> str:
        """Safe in every store's names, whatever the id contains."""
        return f"{self.container_name}/{hashlib.sha256(message_id.encode()).hexdigest()}"

    def _age(self, record: DeduplicationRecord) -> str:
        return f"{max(0.0, self._clock.wall() - record.timestamp):.0f} s"


def _record(found: Found | None) -> DeduplicationRecord | None:
    """Raises what msgspec raises where other software has written there; the caller treats it as a failed store."""
    return None if found is None else msgspec.json.decode(found.record, type=DeduplicationRecord)


def _refuse_no_id(message_id: object) -> None:
    if not isinstance(message_id, str):
        msg = f"{message_id!r} is not a message id: pass a text; nothing was looked up or recorded"
        raise BadArgument(msg)
    if not message_id:
        raise BadArgument("a message id must not be empty; nothing was recorded")
