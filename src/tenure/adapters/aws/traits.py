"""What SQS with a table beside it can and cannot do."""

from tenure.adapters.aws.options import Options
from tenure.adapters.aws.queues import BATCH, MAX_HIDE
from tenure.adapters.aws.wire import PLAIN
from tenure.broker import BrokerTraits
from tenure.message import MessageState

#: The queue's timer ends so much after the lease: the sweep comes first, and counts. Where nobody sweeps, the copy
#: comes back by the timer.
SLACK = 10.0
MIN_LEASE, MAX_LEASE = 1.0, MAX_HIDE - 2 * SLACK
#: Delays that SQS cannot keep by itself go in hops; so long at most, that retention does not end them.
MAX_DELAY_SECONDS = 13 * 86_400.0


def traits(options: Options) -> BrokerTraits:
    """As the options say."""
    return BrokerTraits(
        min_lease_seconds=MIN_LEASE,
        max_lease_seconds=min(MAX_LEASE, options.hold_seconds),
        max_hold_seconds=options.hold_seconds,
        body_limit=options.body_limit,
        batch_limit=BATCH,
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
        # SQS has no peek; dead letters are kept in the state.
        browsable=frozenset({MessageState.DEAD}),
        depth_is_exact=False,
        in_order=False,
        takes_tickets=options.wire != PLAIN,
        returned_first=False,
        roster_seconds=5.0,
    )


def clamped(options: Options, seconds: float) -> float:
    """As long as a lease may be."""
    return min(max(seconds, MIN_LEASE), MAX_LEASE, options.hold_seconds)
