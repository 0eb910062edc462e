"""The store: what its adapter examines, and whether this process may write to it."""

import os
from collections.abc import Sequence

from tenure.broker import Examinable
from tenure.client.operations.doctor.facts import Facts
from tenure.examination import Area, Examination

_KIND = "doctor"
#: If the doctor dies between its two steps, its note goes by itself.
_NOTE_SECONDS = 60.0


async def examine(facts: Facts) -> Sequence[Examination]:
    """How the service and the queues are set up. A broker that does not examine itself is asked for its findings."""
    broker = facts.access.broker
    if isinstance(broker, Examinable):
        return await broker.examine(facts.queues)
    findings = await broker.check(facts.queues)
    return [Examination(id="store", area=Area.STORE, title="store", seen="it answers", findings=tuple(findings))]


async def write(facts: Facts) -> Sequence[Examination]:
    """Write a note and remove it: shows rights that nothing else shows. A user who may only read does not know."""
    access, name = facts.access, os.urandom(8).hex()
    values, began = access.state.key_values, access.clock.monotonic()
    kept = await values.put(_KIND, name, b"{}", expect=None, expires_at=access.state.wall() + _NOTE_SECONDS)
    await values.remove(_KIND, name, expect=None if kept is None else kept.version)
    seconds = access.clock.monotonic() - began
    return [
        Examination(id="writing", area=Area.STORE, title="writing", seen=f"a note, there and gone in {seconds:.2g} s")
    ]
