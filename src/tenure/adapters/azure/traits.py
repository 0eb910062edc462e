"""What Azure Storage Queues can do, with a table beside them."""

import msgspec

from tenure.adapters.azure.options import Options
from tenure.adapters.azure.wire import PLAIN
from tenure.broker import EVERY_STATE, BrokerTraits
from tenure.message import MessageState

#: The service hides a message for so long at most, at each touch.
_WEEK = 7 * 86_400.0
#: 64 KiB of text, of which base64 needs a third; and with each redrive a message's generation takes a little more.
_BODY = 48 * 1024 - 32

#: What the rows of lives show, which are few: what waits has none, and what is completed has none any more.
_BROWSABLE = frozenset({MessageState.LEASED, MessageState.DEAD})

TRAITS = BrokerTraits(
    limits_are_shared_out=True,
    waiting_is_counted=False,
    erases=False,
    min_lease_seconds=1.0,
    max_lease_seconds=_WEEK,
    max_hold_seconds=None,
    body_limit=_BODY,
    batch_limit=32,
    # Longer ones are hidden again and again until they are due.
    max_delay_seconds=None,
    # Every act is compared with the message's row; a stale receipt is refused by the service, too.
    receipts_fence=True,
    settles_exactly_once=False,
    keys_at_send=False,
    unique_at_send=True,
    lease_per_message=False,
    priority_levels=1,
    fairness=None,
    native_expiry=False,
    browsable=_BROWSABLE,
    # A window of 10 000 rows is 10 requests (`scanning.py`).
    scannable=EVERY_STATE - _BROWSABLE,
    ended_order="end",
    ended_filters=frozenset({"task"}),
    # The leases of a thousand are one query: 173 000 a month and viewer, less than a cent.
    snapshot_seconds=15.0,
    depth_is_exact=False,
    # Messages are put one by one, and side by side.
    in_order=False,
    roster_seconds=5.0,
    announce_seconds=5.0,
)


def traits(options: Options) -> BrokerTraits:
    """As the options say."""
    return msgspec.structs.replace(TRAITS, takes_tickets=options.wire != PLAIN)


def clamped_lease(seconds: float) -> float:
    """A lease of `seconds`, within what the service grants."""
    return min(max(seconds, TRAITS.min_lease_seconds), TRAITS.max_lease_seconds)
