"""The current leases over all queues, for viewers: soonest deadline first, with beats and progress.

Read from the index of leased messages. Beats are counted in the row by each touch, progress stands in `note`, and what
the holder said of its work in `beat` (`holding.py`). Run by `reader.py` for `broker.py`.
"""

from typing import Any

import msgspec

from tenure.adapters.sqlite import edited
from tenure.adapters.sqlite.states import BEAT, LEASED, NOTED
from tenure.adapters.sqlite.timeline import micros, seconds
from tenure.adapters.sqlite.transaction import ReadView
from tenure.query import HeldLease, Leases
from tenure.record import Progress
from tenure.rules.queue_pattern import matches

_LEASES = f"""
SELECT id, queue, task, message.fence, attempts, moment, extras,
       CASE WHEN extras & {NOTED} THEN (SELECT progress FROM note WHERE note.seq = message.seq) END,
       beat.seconds, beat.size, beat.predicted_seconds
FROM message INDEXED BY message_leased
LEFT JOIN beat ON message.extras >= {BEAT} AND beat.seq = message.seq AND beat.fence = message.fence
WHERE state = {LEASED} ORDER BY moment
"""
_LOANS = "SELECT fence, owner, seconds, has_presence, leased_at FROM loan"
_SWEEPS = "SELECT name, value FROM meta WHERE name IN ('swept', 'sweep_seconds')"

#: A lease without a loan was edited by hand.
_NO_LOAN = ("", 0.0, 0, None)

_progress = msgspec.json.Decoder(Progress)


def leases(view: ReadView, queues: tuple[str, ...] | None, limit: int) -> Leases:
    """Up to `limit` leases, and when the store was and will be swept."""
    last, following = _sweeps(view)
    found: list[HeldLease] = []
    is_cut = False
    if limit > 0:
        loans = {fence: loan for fence, *loan in view.db.execute(_LOANS).fetchall()}
        rows = view.db.execute(f"{_LEASES} LIMIT ?", (limit + 1,)) if queues is None else view.db.execute(_LEASES)
        for row in rows:
            if queues is not None and not matches(row[1], queues):
                continue
            if len(found) == limit:
                is_cut = True
                break
            found.append(_lease(view, row, loans.get(row[3], _NO_LOAN)))
        rows.close()
    return Leases(leases=tuple(found), is_cut=is_cut, now=view.wall, last_sweep_at=last, next_sweep_at=following)


def _lease(view: ReadView, row: tuple[Any, ...], loan: tuple[Any, ...] | list[Any]) -> HeldLease:
    id, queue, task, fence, attempts, moment, extras, progress, own_window, size, predicted = row
    owner, window, has_presence, leased_at = loan
    if own_window is not None:
        window = own_window
    when = moment if isinstance(moment, int) else view.now + micros(window)
    left = (when - view.now) / 1_000_000
    deadline = view.wall + left
    beats = edited.count(extras) // BEAT
    return HeldLease(
        id=id, queue=queue, task=edited.text(task), owner=owner, fence=fence, attempt=edited.count(attempts) + 1,
        leased_at=leased_at, deadline=deadline, deadline_in=left, seconds=window, beats=beats,
        last_beat_at=deadline - window if beats else None,
        progress=None if progress is None else edited.read(_progress, progress),
        size=size, predicted_seconds=predicted, has_presence=bool(has_presence),
    )  # fmt: skip


def _sweeps(view: ReadView) -> tuple[float | None, float | None]:
    """Wall time of the last sweep, and of the next one."""
    known = dict(view.db.execute(_SWEEPS).fetchall())
    moment, interval = edited.moment(known.get("swept")), edited.number(known.get("sweep_seconds"))
    if moment is None:
        return None, None
    last = view.wall - seconds(view.now - moment)
    return last, None if interval is None else last + interval
