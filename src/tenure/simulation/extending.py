"""A timeout that a loop of one's own extends while a handler runs, as `tenure.standalone.VisibilityHeartbeat` does.

The plan of beats is the same (`timing/beat.py`): ask for this many seconds from now, every so often. A beat that would
gain nothing is not sent. Requests are not shared between messages. Used by the handlers of `virtual_worker.py`.
"""

import asyncio

import msgspec

from tenure.broker import Broker
from tenure.lease import Lease, LeaseState
from tenure.testing.virtual import VirtualClock
from tenure.timing.beat import BeatPlan


async def extend(broker: Broker, lease: Lease, plan: BeatPlan, clock: VirtualClock) -> None:
    """Beat until cancelled, or until another worker has the lease."""
    began = clock.monotonic()
    due = plan.next_due(began, lease.deadline)
    while lease.state is LeaseState.HELD:
        await asyncio.sleep(max(0.0, due - clock.monotonic()))
        now = clock.monotonic()
        seconds = plan.seconds_to_ask(now, began, lease.deadline)
        if seconds:
            (lease,) = await broker.touch([msgspec.structs.replace(lease, seconds=float(seconds))])
        elif plan.is_at_limit(began, lease.deadline):
            return
        due = plan.next_due(now, lease.deadline)
