"""What SQS with a table beside it can and cannot do."""

from tenure.adapters.aws.options import Options
from tenure.adapters.aws.queues import BATCH, MAX_HIDE
from tenure.adapters.aws.wire import PLAIN
from tenure.broker import EVERY_STATE, LEASE_BYTE_LIMIT, BrokerTraits
from tenure.message import MessageState

#: The queue's timer ends so much after the lease: the sweep comes first, and counts. Where nobody sweeps, the copy
#: comes back by the timer.
SLACK = 10.0
MIN_LEASE, MAX_LEASE = 1.0, MAX_HIDE - 2 * SLACK
#: Delays that SQS cannot keep by itself go in hops; so long at most, that retention does not end them.
MAX_DELAY_SECONDS = 13 * 86_400.0


#: What the table finds without reading all of its rows.
_BROWSABLE = frozenset({MessageState.LEASED, MessageState.DEAD})


def traits(options: Options, *, can_scan: bool) -> BrokerTraits:
    """As the options say. `can_scan`: the table of the state can be read from end to end."""
    return BrokerTraits(
        limits_are_shared_out=True,
        waiting_is_counted=False,
        erases=False,
        min_lease_seconds=MIN_LEASE,
        max_lease_seconds=min(MAX_LEASE, options.hold_seconds),
        max_hold_seconds=options.hold_seconds,
        body_limit=options.body_limit,
        batch_limit=BATCH,
        # Nobody knows how large messages are before they are received: at most one receive is lent.
        lease_byte_limit=max(LEASE_BYTE_LIMIT, BATCH * options.body_limit),
        max_delay_seconds=MAX_DELAY_SECONDS,
        # A receipt alone does not, but none is used before the state has said that the lease stands.
        receipts_fence=True,
        settles_exactly_once=False,
        keys_at_send=False,
        unique_at_send=True,
        lease_per_message=True,
        priority_levels=options.priorities,
        fairness=10 if options.priorities > 1 else None,
        native_expiry=False,
        # SQS has no peek; what is lent and what is dead is known to the state.
        browsable=_BROWSABLE,
        scannable=EVERY_STATE - _BROWSABLE if can_scan else frozenset(),
        # Their envelopes lie in SQS alone.
        opaque_states=frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED}),
        # A request is paid for: one for each queue, and a read for each message that is held.
        snapshot_seconds=15.0,
        depth_is_exact=False,
        in_order=False,
        takes_tickets=options.wire != PLAIN,
        returned_first=False,
        roster_seconds=5.0,
        announce_seconds=5.0,
    )


def clamped(options: Options, seconds: float) -> float:
    """As long as a lease may be."""
    return min(max(seconds, MIN_LEASE), MAX_LEASE, options.hold_seconds)
