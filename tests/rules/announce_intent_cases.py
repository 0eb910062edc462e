"""The table of cases for an intent: what its message's rows say now, and what became of it.

`test_announce_intent.py` runs the rule against it; the adapters of SQS and Azure call the rule.
"""

from dataclasses import dataclass

from tenure.message import MessageState
from tenure.rules.announce_intent import ABSENT, ABSENT_SECONDS, Belief, Known, Met

PLACE, OTHER = "00000001700000000000-aaaaaa", "00000001700000000001-bbbbbb"
LEASED = Met(MessageState.LEASED, 1, 7)


@dataclass(frozen=True)
class Case:
    """One look at an intent at `PLACE`."""

    name: str
    known: Known
    expected: Belief
    met: Met = LEASED
    chosen: str | None = None
    age_seconds: float = 0.0


def _now(state: str, generation: int = 1, fence: int = 7, ended_by: tuple[str, ...] = ()) -> Known:
    return Known(Met(state, generation, fence), ended_by)


CASES = [
    Case("ended by it", _now("dead", ended_by=(PLACE,)), Belief.HOLDS),
    Case("ended by it, and the claim chose it", _now("dead", ended_by=(PLACE,)), Belief.HOLDS, chosen=PLACE),
    Case("ended by it, but a seal was first", _now("dead", ended_by=(PLACE,)), Belief.VOID, chosen=OTHER),
    Case("ended by it, and that was announced before", _now("dead", ended_by=(PLACE,)), Belief.VOID, chosen=""),
    Case("ended by it, and then redriven", _now("ready", 2, 7, (PLACE,)), Belief.HOLDS),
    Case("ended by it, and by another one after a redrive", _now("gone", 2, 9, (PLACE, OTHER)), Belief.HOLDS),
    Case("ended by another one", _now("cancelled", ended_by=(OTHER,)), Belief.VOID),
    Case("as it was met", _now("leased"), Belief.PENDING),
    Case("as it was met in a later generation", _now("leased", 1, 7, (OTHER,)), Belief.PENDING),
    Case("as it was met, for years", _now("leased"), Belief.PENDING, age_seconds=1e9),
    Case("returned since", _now("ready"), Belief.VOID),
    Case("lent again since", _now("leased", 1, 8), Belief.VOID),
    Case("in a later generation", _now("leased", 2, 7), Belief.VOID),
    Case("forgotten", Known(), Belief.VOID),
    Case("not there yet", Known(), Belief.PENDING, met=Met(), age_seconds=ABSENT_SECONDS),
    Case("never there", Known(), Belief.VOID, met=Met(), age_seconds=ABSENT_SECONDS + 1.0),
    Case("sent since", _now("ready", 0, 0), Belief.VOID, met=Met(ABSENT)),
    Case("a claim that still runs", _now("running"), Belief.PENDING, met=Met("running", 1, 7)),
    Case("a claim that was released", _now("sent"), Belief.VOID, met=Met("running", 1, 7)),
    Case("a claim of somebody else", _now("running", 1, 8), Belief.VOID, met=Met("running", 1, 7)),
    Case("a claim that is done by it", _now("done", ended_by=("", PLACE)), Belief.HOLDS, met=Met("running", 1, 7)),
    Case("a claim that was announced", _now("done", ended_by=("",)), Belief.VOID, met=Met("running", 1, 7)),
]
