"""Which URLs and addresses webhooks may call: public ones, and what `TENURE_WEBHOOK_ALLOW` names. Pure.

A receiver's URL comes from outside, so without this rule a worker could be made to call what only it can reach: its
cloud's metadata service, databases, our own API. Two questions, because a name says nothing about its addresses:

    read(url)                     when an endpoint or a message is accepted: is this a URL that may be called at all?
    refusal_of(place, addresses)  when it is called: may each of these addresses be called? One that may not is enough

https to port 443 of public addresses may be called. Everything else (http, other ports, private networks) only where an
allowance says so; metadata services and our own API never. `transport.py` connects to addresses that were judged here
and to no others.
"""

import ipaddress
import re
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

import msgspec

from tenure.rules.webhook_allow import Address, Allowance, Network, allowance

_LONGEST_URL = 2_000
_PORTS = {"https": 443, "http": 80}
_MOST_PORT = 65_535
_NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(?:\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
#: The last part of a host makes browsers and libc read the whole as an address: 2130706433, 0x7f.1, 017700000001.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_MOST_NAME = 253

#: Metadata services and their kin: AWS (also of ECS and EKS), Google, Azure, Oracle, Alibaba. No allowance opens them.
_METADATA = frozenset(
    ipaddress.ip_address(one)
    for one in (
        "169.254.169.254", "169.254.169.253", "169.254.169.123", "169.254.170.2", "169.254.170.23", "168.63.129.16",
        "192.0.0.192", "100.100.100.200", "fd00:ec2::254", "fd00:ec2::253", "fd00:ec2::23", "fd20:ce::254",
    )
)  # fmt: skip
_METADATA_NAMES = frozenset({"metadata", "metadata.google.internal", "metadata.azure.internal", "instance-data"})

#: What older Pythons call global although it is none, and addresses with another one inside.
_SPECIAL: tuple[Network, ...] = tuple(
    ipaddress.ip_network(one)
    for one in (
        "0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.88.99.0/24", "198.18.0.0/15", "224.0.0.0/3",
        "::/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
        "5f00::/16", "fc00::/7", "fe80::/9", "ff00::/8",
    )
)  # fmt: skip
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
#: Its operator decides where in the address the other one is, so metadata services could hide there: never allowed.
_LOCAL_NAT64 = ipaddress.IPv6Network("64:ff9b:1::/48")


class Place(msgspec.Struct, frozen=True):
    """The parts of a URL that decide where it leads."""

    scheme: str
    #: Lower case, without a dot at its end; an IPv6 address without brackets.
    host: str
    port: int

    @property
    def address(self) -> Address | None:
        """The address, if the host is one and no name."""
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None


class Unreadable(ValueError):
    """A URL that cannot be called, whatever is allowed; says why."""


def read(url: str) -> Place:
    """The place that a URL names. Raises `Unreadable`."""
    if len(url) > _LONGEST_URL or not url.isascii() or not url.isprintable() or " " in url or "\\" in url:
        msg = f"a URL has at most {_LONGEST_URL} plain ASCII characters, without spaces and backslashes"
        raise Unreadable(msg)
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise Unreadable(f"its URL cannot be read: {error}") from error
    if parts.scheme not in _PORTS:
        raise Unreadable("its URL must begin with https://")
    if "@" in parts.netloc:
        raise Unreadable("its URL holds a user or password; the signature proves who calls")
    if parts.fragment or url.endswith("#"):
        raise Unreadable("its URL has a fragment (#…), which is never sent")
    if port == 0 or parts.netloc.endswith(":"):
        raise Unreadable("its URL has no readable port")
    return Place(parts.scheme, _host(parts.netloc, parts.hostname or ""), port or _PORTS[parts.scheme])


def _host(netloc: str, host: str) -> str:
    if netloc.startswith("["):
        try:
            return str(ipaddress.IPv6Address(host)) if "%" not in host else _refuse(host)
        except ValueError:
            return _refuse(host)
    host = host.removesuffix(".")
    if _NUMBER.fullmatch(host.rpartition(".")[2]):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            # 127.1, 2130706433, 0177.0.0.1, 0x7f000001: libc would call 127.0.0.1.
            return _refuse(host)
    if len(host) > _MOST_NAME or not _NAME.fullmatch(host):
        return _refuse(host)
    return host


def _refuse(host: str) -> str:
    msg = f"{host!r} is no host; write a name, or an address as 203.0.113.5 or [2001:db8::1]"
    raise Unreadable(msg)


class AddressRules:
    """What may be called, with the allowances of one deployment."""

    def __init__(self, allow: Iterable[str] = (), own: Iterable[tuple[str, int]] = ()) -> None:
        """`own`: host and port of our own API, by all its names and addresses."""
        self._allow: Sequence[Allowance] = tuple(allowance(entry) for entry in allow)
        self._own = frozenset((host.lower().strip("[]"), port) for host, port in own)

    def refusal(self, url: str) -> str:
        """Why a URL is not accepted, as far as that can be known without asking a name server. Empty: it is."""
        try:
            place = read(url)
        except Unreadable as error:
            return str(error)
        address = place.address
        return self._refusal_of_name(place) if address is None else self.refusal_of(place, [address])

    def refusal_of(self, place: Place, addresses: Sequence[Address]) -> str:
        """Why the place may not be called at these addresses, which are all that its name has. Empty: it may."""
        problem = self._refusal_of_name(place)
        if problem:
            return problem
        if not addresses:
            return f"{place.host} has no address"
        return next((why for why in (self._refusal_of(place, one) for one in addresses) if why), "")

    def _refusal_of_name(self, place: Place) -> str:
        if (place.host, place.port) in self._own:
            return f"{place.host}:{place.port} is Tenure's own API, which webhooks never call"
        if place.host in _METADATA_NAMES or place.host.partition(".")[0] == "instance-data":
            return f"{place.host} is a metadata service, which webhooks never call"
        # A network may still allow it, once its addresses are known.
        if self._is_named(place) or any(one.network is not None for one in self._allow):
            return ""
        return _refusal_of_port(place)

    def _refusal_of(self, place: Place, address: Address) -> str:
        inner = _inside(address)
        if (str(address), place.port) in self._own or (str(inner), place.port) in self._own:
            return f"{place.host}:{place.port} is Tenure's own API, which webhooks never call"
        if _METADATA & {address, inner}:
            return f"{_shown(place, address)} is a metadata service, which webhooks never call"
        if self._is_named(place) or self._is_allowed(address, inner, place.port):
            return ""
        if not is_public(address):
            return (
                f"{_shown(place, address)} is not a public address; TENURE_WEBHOOK_ALLOW can allow the host or its "
                "network"
            )
        return _refusal_of_port(place)

    def _is_named(self, place: Place) -> bool:
        return any(one.has(place.host, place.port) for one in self._allow)

    def _is_allowed(self, address: Address, inner: Address, port: int) -> bool:
        def allowed(one: Address) -> bool:
            return any(entry.contains(one, port) for entry in self._allow)

        if address in _LOCAL_NAT64:
            return False
        if address in _NAT64:
            # The prefix says only how the network is built. What is behind it is judged like any address.
            return allowed(address) and (is_public(inner) or allowed(inner))
        return allowed(address)


def is_public(address: Address) -> bool:
    """Whether anybody on the internet could call it, and no address of another kind is inside it."""
    return (
        address.is_global
        and not (address.is_multicast or address.is_reserved or address.is_unspecified)
        and (address.version == 4 or _inside(address) == address)  # noqa: PLR2004 - the version of IP
        and not any(address in network for network in _SPECIAL if network.version == address.version)
    )


def _inside(address: Address) -> Address:
    """The IPv4 address within an IPv6 one (mapped, NAT64, 6to4, Teredo, compatible), or the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    found = address.ipv4_mapped or address.sixtofour or (address.teredo and address.teredo[1])
    if found:
        return found
    if address in _NAT64 or (int(address) >> 32 == 0 and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def _refusal_of_port(place: Place) -> str:
    if place.scheme != "https":
        return "its URL must begin with https://; TENURE_WEBHOOK_ALLOW can allow its host without"
    if place.port != _PORTS["https"]:
        return f"port {place.port} is not 443; TENURE_WEBHOOK_ALLOW can allow it ({place.host}:{place.port})"
    return ""


def _shown(place: Place, address: Address) -> str:
    return str(address) if place.address is not None else f"{place.host} ({address})"
