"""The messages that a broker can show, and where to look for the others. Pure."""

from collections.abc import Sequence

from tenure.broker import Broker
from tenure.errors import NotBrowsable
from tenure.message import MessageState

#: Those that `tenure queues` has a figure for.
_COUNTED = frozenset({MessageState.READY, MessageState.DELAYED, MessageState.LEASED, MessageState.DEAD})


def check_shown(
    broker: Broker, states: Sequence[MessageState], *, consequence: str = "", scan: bool | None = None
) -> None:
    """Raise `NotBrowsable`, with what to do instead, unless the broker shows what is in these states.

    `scan`: whether a paid scan was asked for. None: the command has none.
    """
    hidden = hidden_states(broker, states, scan=bool(scan))
    if not hidden:
        return
    if scan is False and broker.traits.scannable.issuperset(hidden):
        what = " or ".join(hidden)
        why = "reading its whole table, which is paid for by the row"
        raise NotBrowsable(f"this broker lists no {what} messages but by {why}; --scan does it. {consequence}".rstrip())
    raise NotBrowsable(" ".join(f"{instead(hidden)}. {consequence}".split()))


def hidden_states(broker: Broker, states: Sequence[MessageState], *, scan: bool = False) -> list[MessageState]:
    """Return the states of which the broker shows no message. `scan`: not even by a paid scan."""
    shown = broker.traits.browsable | (broker.traits.scannable if scan else frozenset())
    return [state for state in states if state not in shown]


def instead(hidden: Sequence[MessageState]) -> str:
    """Say which state cannot be shown, and where to look instead."""
    what = " or ".join(hidden)
    counted = "tenure queues counts them, and " if _COUNTED.intersection(hidden) else ""
    told = f"{counted}tenure show ID shows one"
    why = "it cannot without taking them" if _COUNTED.intersection(hidden) else "it keeps no list of them"
    return f"this broker lists no {what} messages, because {why}; {told}"
