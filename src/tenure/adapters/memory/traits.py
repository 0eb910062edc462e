"""The traits of the in-memory broker, in its two shapes.

Exact: it settles exactly once, as SQLite and Redis do. Not exact: it knows neither results nor keys nor
what waits, as a cloud queue does, so that the worker must claim, seal and send the hand-offs itself. Tests may
also set the limits of `CHANGEABLE`, to imitate a smaller broker; the broker then keeps to them.
"""

import msgspec

from tenure.broker import EVERY_STATE, BrokerTraits
from tenure.errors import BadSetting
from tenure.message import MAX_PRIORITY, Message, MessageState
from tenure.rules.rotation import FAIRNESS

TRAITS = BrokerTraits(
    min_lease_seconds=0.05,
    max_lease_seconds=7 * 24 * 3600.0,
    max_hold_seconds=None,
    body_limit=1024 * 1024,
    batch_limit=1000,
    max_delay_seconds=None,
    receipts_fence=True,
    settles_exactly_once=True,
    keys_at_send=True,
    unique_at_send=True,
    lease_per_message=True,
    priority_levels=MAX_PRIORITY + 1,
    fairness=FAIRNESS,
    native_expiry=False,
    browsable=EVERY_STATE,
    depth_is_exact=True,
)

#: The traits that this broker can really behave by.
CHANGEABLE = frozenset({
    "min_lease_seconds", "max_lease_seconds", "max_hold_seconds", "body_limit", "batch_limit",
    "max_delay_seconds", "lease_per_message", "priority_levels", "roster_seconds", "fairness",
    "lease_byte_limit", "snapshot_seconds",
})  # fmt: skip


def shaped(*, exact: bool, changes: dict[str, float | None]) -> BrokerTraits:
    """The traits of one shape, with changes. Raises `BadSetting` for a trait that cannot be changed."""
    unknown = sorted(changes.keys() - CHANGEABLE)
    if unknown:
        allowed = ", ".join(sorted(CHANGEABLE))
        msg = f"the memory broker cannot change {', '.join(unknown)}; it can change {allowed}"
        raise BadSetting(msg)
    browsable = EVERY_STATE if exact else EVERY_STATE - {MessageState.COMPLETED}
    traits = msgspec.structs.replace(
        TRAITS, settles_exactly_once=exact, erases=exact, keys_at_send=exact, unique_at_send=exact, browsable=browsable
    )
    return msgspec.structs.replace(traits, **changes)


def clamped_lease(traits: BrokerTraits, seconds: float) -> float:
    """A lease of `seconds`, within what the broker grants."""
    return min(max(seconds, traits.min_lease_seconds), traits.max_lease_seconds)


def clamped_delay(traits: BrokerTraits, seconds: float) -> float:
    """A delay of `seconds`, as far as the broker keeps delays."""
    return seconds if traits.max_delay_seconds is None else min(seconds, traits.max_delay_seconds)


def level_of(traits: BrokerTraits, message: Message) -> int:
    """The message's priority, on as many levels as the broker keeps apart."""
    return message.priority * traits.priority_levels // (MAX_PRIORITY + 1)
