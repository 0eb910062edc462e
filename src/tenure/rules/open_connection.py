"""Whether a connection that leaves this machine is encrypted. Pure.

On loopback only this machine listens. Beyond it, what is sent without TLS can be read and changed on the way: payloads,
passwords and tokens. Used by the adapters' examinations and by `client/operations/doctor`.
"""

import ipaddress
from collections.abc import Sequence
from urllib.parse import urlsplit

from tenure.finding import Finding, Severity

_LOCAL_NAMES = frozenset({"localhost", "ip6-localhost"})


def is_local(host: str) -> bool:
    """Whether a host is this machine, by its name or address."""
    host = host.lower().rstrip(".")
    if host in _LOCAL_NAMES or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def find_unencrypted(subject: str, hosts: Sequence[str], *, remedy: str) -> list[Finding]:
    """The finding about connections without TLS to these hosts; none if all of them are this machine."""
    beyond = [host for host in hosts if not is_local(host)]
    if not beyond:
        return []
    evidence = f"connections to {', '.join(beyond)} are not encrypted: messages and logins can be read on the way"
    return [Finding("tls_off", Severity.WARNING, subject, evidence, remedy)]


def plain_host(url: str) -> str | None:
    """The host of a URL that is `http:` and leaves this machine. None: it is encrypted, or stays here."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    return host if parts.scheme == "http" and not is_local(host) else None
