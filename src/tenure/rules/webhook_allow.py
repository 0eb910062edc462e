"""An allowance: one entry of `TENURE_WEBHOOK_ALLOW`, a place that webhooks may call although it is not public.

    10.0.0.0/8             a network, with every port
    hooks.internal         a host by its name, with every port
    hooks.internal:8080    one port of it
    127.0.0.1:9000         one port of one address
    [fd00::5]:9000         likewise, IPv6

Pure. Read by `config.py`; applied by `webhooks/address.py`.
"""

import ipaddress
import re

import msgspec

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

#: A name or a dotted address, or an IPv6 address in brackets; and a port.
_ENTRY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?))(?::([0-9]{1,5}))?")
_MOST_PORT = 65_535


class Allowance(msgspec.Struct, frozen=True):
    """What one entry allows: a name or a network, with one port or all of them."""

    name: str | None = None
    network: Network | None = None
    #: None: every port.
    port: int | None = None

    def has(self, name: str, port: int) -> bool:
        """Whether it allows this host by its name."""
        return self.name == name and self.port in (None, port)

    def contains(self, address: Address, port: int) -> bool:
        """Whether it allows this address."""
        return self.network is not None and address in self.network and self.port in (None, port)


def allowance(entry: str) -> Allowance:
    """Read one entry. Raises `ValueError`."""
    entry = entry.strip().lower()
    try:
        return Allowance(network=ipaddress.ip_network(entry))
    except ValueError:
        found = _ENTRY.fullmatch(entry)
    port = int(found[3]) if found is not None and found[3] else None
    if found is None or port == 0 or (port or 1) > _MOST_PORT:
        msg = f"{entry!r} is neither a host nor a network"
        raise ValueError(msg)
    if found[1]:
        return Allowance(network=ipaddress.ip_network(found[1]), port=port)
    if found[2].replace(".", "").isdigit():
        return Allowance(network=ipaddress.ip_network(found[2]), port=port)
    return Allowance(name=found[2], port=port)
