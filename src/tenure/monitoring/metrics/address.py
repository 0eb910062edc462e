"""Where a worker serves its metrics: an address, and who may ask there.

As for the server: on loopback no token is needed, because only this machine reaches it; on any other address one is, or
nothing is started.
"""

import ipaddress

import msgspec

from tenure.errors import ConfigurationError

_LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})
_MOST_PORT = 65_535


class MetricsAddress(msgspec.Struct, frozen=True):
    """An address that metrics are served at."""

    host: str
    #: 0: any free one.
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        return is_loopback(self.host)


def address_of(text: str) -> MetricsAddress:
    """Read `127.0.0.1:9100`, `[::1]:9100`, or a port alone, which is one on loopback. Raises `ConfigurationError`."""
    host, _, port = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not port.isascii() or not port.isdigit() or int(port) > _MOST_PORT or " " in host:
        msg = f"{text!r} is no address for metrics; write it as 127.0.0.1:9100. Nothing was started"
        raise ConfigurationError(msg)
    return MetricsAddress(host, int(port))


def check_access(address: MetricsAddress, token: str | None) -> None:
    """Raise `ConfigurationError` where others could read the metrics without a token."""
    if token is None and not address.is_loopback:
        msg = (
            f"metrics at {address.host} could be read by other machines: set TENURE_METRICS_TOKEN, or serve them at"
            " 127.0.0.1. Nothing was started"
        )
        raise ConfigurationError(msg)


def is_loopback(host: str) -> bool:
    """Whether a name or an address is this machine's own."""
    if host.lower() in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
