"""Snapshots as messages of an event stream, at most one for each that is made.

    event: snapshot
    data: {"type": "snapshot", "timestamp": 1704067200000, "payload": {"times": {…}, "overview": {…}, "leases": {…}}}

The overview is sent whole where it differs from the last one; leases are sent as changes. A message in which nothing
changed has only the times, so that a viewer knows that what it shows is not stale. The bytes are made once for all
viewers who see the same and were sent the same before.
"""

from collections.abc import Sequence

import msgspec

from tenure.client.operations.access import Access
from tenure.client.operations.overview.rows import Overview
from tenure.query import HeldLease
from tenure.server.events.wire import block
from tenure.server.snapshots.entity_tag import tag_of
from tenure.server.snapshots.lease_changes import LeaseChanges, changes
from tenure.server.snapshots.parts import (
    OverviewSnapshot,
    SnapshotPart,
    SnapshotTimes,
    leases_of,
    overview_of,
    times_of,
)
from tenure.server.snapshots.snapshots import Snapshots


class SnapshotMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The payload of one message."""

    times: SnapshotTimes
    #: Missing: as before, or not asked for.
    overview: OverviewSnapshot | None = None
    leases: LeaseChanges | None = None


class SentSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """A message, and what its viewers show now."""

    data: bytes = b""
    #: The number of the snapshot. 0: nothing was sent yet.
    number: int = 0
    overview_tag: str = ""
    #: None: no leases were asked for, or none were sent yet.
    rows: Sequence[HeldLease] | None = None


class SnapshotTicks:
    """The snapshots of one stream."""

    def __init__(self, snapshots: Snapshots, access: Access, parts: frozenset[SnapshotPart], leases: int) -> None:
        """`leases`: the most rows to send; those that end soonest."""
        self.snapshots = snapshots
        self.access = access
        self._parts = parts
        self._leases = leases
        self._sent = SentSnapshot()

    def next(self) -> bytes:
        """The newest snapshot, if it was not sent yet; else empty."""
        newest = self.snapshots.newest
        if newest is None or newest.number == self._sent.number:
            return b""
        overview = self.snapshots.known_view(self.access)
        if overview is None:
            return b""
        key = (self.access.selection, self.access.sees_payload, self._parts, self._leases, self._sent.number)
        # A later viewer sees an older snapshot, and must know its age.
        known = self.snapshots.messages.get(key) if self._sent.number else None
        if known is None:
            known = self._message(overview, newest.number)
            self.snapshots.messages[key] = known
        self._sent = known
        return known.data

    def _message(self, overview: Overview, number: int) -> SentSnapshot:
        before, now = self._sent, self.access.state.wall()
        times = times_of(overview, now, self.snapshots.next_in())
        shown, tag, changed, rows = None, "", None, None
        if SnapshotPart.OVERVIEW in self._parts:
            shown = overview_of(overview, times)
            tag = tag_of(shown)
            shown = None if tag == before.overview_tag else shown
        if SnapshotPart.LEASES in self._parts:
            leases = leases_of(overview, times, self._leases)
            changed, rows = changes(before.rows, leases.leases, is_cut=leases.is_cut), leases.leases
        payload = SnapshotMessage(times=times, overview=shown, leases=changed)
        data = block("snapshot", now, payload, name="snapshot")
        return SentSnapshot(data=data, number=number, overview_tag=tag, rows=rows)
