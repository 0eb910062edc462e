"""LoginAttempts: how often wrong credentials may come from one address.

A secret of 256 bits cannot be guessed, so this keeps load and log lines small rather than guessers out: ten wrong
attempts at once, then one every six seconds. Addresses are kept in bounded memory; of IPv6 the network counts.
"""

import ipaddress
from collections import OrderedDict

from tenure.clock import Clock

_AT_ONCE = 10
_SECONDS_EACH = 6.0
_MOST_ADDRESSES = 4_096
_NETWORK_BITS = 64


class LoginAttempts:
    """Wrong attempts by address."""

    def __init__(self, clock: Clock) -> None:
        """Start without attempts."""
        self._clock = clock
        #: Until when each address has used up its attempts, if it may make one every `_SECONDS_EACH`.
        self._until: OrderedDict[str, float] = OrderedDict()

    def wait_seconds(self, source: str) -> float:
        """Return how many seconds this address must wait. 0: not at all."""
        until = self._until.get(_network(source), 0.0)
        return max(0.0, until - self._clock.monotonic() - (_AT_ONCE - 1) * _SECONDS_EACH)

    def failed(self, source: str) -> None:
        """Count a wrong attempt."""
        network, now = _network(source), self._clock.monotonic()
        self._until[network] = max(self._until.pop(network, now), now) + _SECONDS_EACH
        while len(self._until) > _MOST_ADDRESSES:
            self._until.popitem(last=False)


def _network(source: str) -> str:
    try:
        address = ipaddress.ip_address(source)
    except ValueError:
        return source
    return str(ipaddress.ip_network((address, _NETWORK_BITS), strict=False)) if address.version == 6 else source  # noqa: PLR2004
