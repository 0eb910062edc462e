"""The final check: every message that was sent is looked up, every effect counted, every promise checked."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import msgspec

from tenure.app import Tenure
from tenure.cli.commands.demo.effects import DemoEffects
from tenure.message import MessageState
from tenure.record import Record

_AT_ONCE = 200
_IN_A_QUEUE = (MessageState.READY, MessageState.DELAYED, MessageState.LEASED)
#: Tasks that never get to an effect.
_WITHOUT_EFFECT = ("fax", "explode")


class Reckoning(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the last line."""

    sent: int
    completed: int
    dead: int
    #: Effects that were done a second time. The promise: 0.
    duplicates: int
    #: Messages that are no longer known, or completed ones without their effect. The promise: 0.
    lost: int
    #: Still in a queue when time was up: late, not lost.
    unfinished: int
    #: Removed with `tenure dead delete` meanwhile.
    deleted: int
    effects: int
    #: Runs that found their effect done by an earlier run.
    effects_skipped: int

    @property
    def promises_kept(self) -> bool:
        """Whether nothing was lost, and no effect was done twice."""
        return self.lost == 0 and self.duplicates == 0

    def __str__(self) -> str:
        """The last line of the demo."""
        parts = {"sent": self.sent, "completed": self.completed, "dead": self.dead,
                 "duplicates": self.duplicates, "lost": self.lost}  # fmt: skip
        more = {"unfinished": self.unfinished, "deleted": self.deleted}
        parts |= {name: number for name, number in more.items() if number}
        return " · ".join(f"{name} {number}" for name, number in parts.items())


async def reckon(app: Tenure, sent: Sequence[str], effects: DemoEffects) -> Reckoning:
    """Look up every message and effect."""
    states: Counter[MessageState | None] = Counter()
    done = effects.done()
    without_effect = 0
    for start in range(0, len(sent), _AT_ONCE):
        ids = sent[start : start + _AT_ONCE]
        for id, record in zip(ids, await asyncio.gather(*map(app.record, ids)), strict=True):
            states[None if record is None else record.state] += 1
            without_effect += _lacks_effect(record, done=id in done)
    return Reckoning(
        sent=len(sent),
        completed=states[MessageState.COMPLETED],
        dead=states[MessageState.DEAD],
        duplicates=effects.doubled(),
        lost=states[None] + without_effect,
        unfinished=sum(states[state] for state in _IN_A_QUEUE),
        deleted=states[MessageState.CANCELLED],
        effects=len(done),
        effects_skipped=effects.skipped(),
    )


def _lacks_effect(record: Record | None, *, done: bool) -> bool:
    if record is None or record.state is not MessageState.COMPLETED:
        return False
    return not done and record.task not in _WITHOUT_EFFECT
