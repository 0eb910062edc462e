"""What a table with a delivery queue beside it can and cannot do."""

from tenure.broker import EVERY_STATE, LEASE_BYTE_LIMIT, BrokerTraits
from tenure.delivery_queue import DeliveryTraits
from tenure.message import MessageState
from tenure.rowstore.settings import Settings
from tenure.rowstore.wire import PLAIN

#: The queue's timer ends so much after the lease: the sweep comes first, and counts. Where nobody sweeps, the copy
#: comes back by the timer.
SLACK = 10.0
MIN_LEASE = 1.0

#: What the table finds without reading all of its rows.
_BROWSABLE = frozenset({MessageState.LEASED, MessageState.DEAD})


def broker_traits(settings: Settings, delivery: DeliveryTraits, *, can_scan: bool) -> BrokerTraits:
    """As the settings and the queue say. `can_scan`: the table of the state can be read from end to end."""
    return BrokerTraits(
        limits_are_shared_out=True,
        waiting_is_counted=False,
        erases=False,
        min_lease_seconds=MIN_LEASE,
        max_lease_seconds=longest_lease(settings, delivery),
        max_hold_seconds=settings.hold_seconds,
        body_limit=settings.body_limit,
        batch_limit=delivery.batch,
        # Nobody knows how large messages are before they are received: at most one receive is lent.
        lease_byte_limit=max(LEASE_BYTE_LIMIT, delivery.batch * settings.body_limit),
        max_delay_seconds=delivery.max_total_delay_seconds,
        # A receipt alone does not, but none is used before the state has said that the lease stands.
        receipts_fence=True,
        settles_exactly_once=False,
        keys_at_send=False,
        unique_at_send=True,
        lease_per_message=True,
        priority_levels=delivery.priority_levels,
        fairness=10 if delivery.priority_levels > 1 else None,
        native_expiry=False,
        # The queue is never peeked at; what is lent and what is dead is known to the state.
        browsable=_BROWSABLE,
        scannable=EVERY_STATE - _BROWSABLE if can_scan else frozenset(),
        # Their envelopes lie in the queue alone.
        opaque_states=frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED}),
        # A request is paid for: one for each queue, and a read for each message that is held.
        snapshot_seconds=15.0,
        depth_is_exact=False,
        in_order=False,
        takes_tickets=settings.wire != PLAIN,
        returned_first=False,
        roster_seconds=5.0,
        announce_seconds=5.0,
    )


def longest_lease(settings: Settings, delivery: DeliveryTraits) -> float:
    """As long as a lease may be."""
    longest = delivery.max_hidden_seconds - 2 * SLACK
    return longest if settings.hold_seconds is None else min(longest, settings.hold_seconds)
