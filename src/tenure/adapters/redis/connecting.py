"""Opens connections: with TLS where asked for, and without the client's own retries.

Used by `topology.py` for every kind of server, and by `store.py` for the server to which it subscribes.
"""

import socket
from typing import Any

from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tenure.adapters.redis.options import RedisOptions

Address = tuple[str, int]

#: A line on which nothing is said must not be closed by what lies between, nor outlive the other machine: it is asked
#: after this many seconds, every this many, given up after this many questions.
_ASKED = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
_KEEPALIVE = {getattr(socket, name): value for name, value in _ASKED.items() if hasattr(socket, name)}


def connection_to(options: RedisOptions, address: Address) -> Connection:
    """A connection that never repeats anything by itself."""
    fields: dict[str, Any] = {
        "host": address[0], "port": address[1], "db": options.db, "username": options.username,
        "password": options.password, "protocol": 2, "decode_responses": False, "socket_timeout": None,
        "socket_connect_timeout": options.timeout_seconds, "socket_keepalive": True,
        "socket_keepalive_options": _KEEPALIVE, "health_check_interval": 0,
        "retry": no_retry(), "retry_on_timeout": False,
    }  # fmt: skip
    return SSLConnection(**fields, **tls(options)) if options.tls else Connection(**fields)


def tls(options: RedisOptions) -> dict[str, Any]:
    """Check the server's certificate and its name, unless `verify=no`."""
    return {
        "ssl_ca_certs": options.ca_file, "ssl_certfile": options.cert_file, "ssl_keyfile": options.key_file,
        "ssl_cert_reqs": "required" if options.verify else "none", "ssl_check_hostname": options.verify,
    }  # fmt: skip


def no_retry() -> Retry:
    """Never repeats a request, which could then be done twice: the caller decides."""
    return Retry(NoBackoff(), 0)
