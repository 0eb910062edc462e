"""Connections as Tenure wants them: with TLS where asked for, and never repeating anything by themselves.

Used by `link.py` for every kind of server, and by `store.py` for the one on which it listens.
"""

import socket
from typing import Any

from redis.asyncio.connection import Connection, SSLConnection
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from tenure.adapters.redis.options import Options

Address = tuple[str, int]

#: A line on which nothing is said must not be closed by what lies between, nor outlive the other machine: it is asked
#: after so many seconds, every so many, given up after so many questions.
_ASKED = {"TCP_KEEPIDLE": 20, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3}
_KEEPALIVE = {getattr(socket, name): value for name, value in _ASKED.items() if hasattr(socket, name)}


def connection_to(options: Options, address: Address) -> Connection:
    """A connection that never repeats anything by itself."""
    fields: dict[str, Any] = {
        "host": address[0], "port": address[1], "db": options.db, "username": options.username,
        "password": options.password, "protocol": 2, "decode_responses": False, "socket_timeout": None,
        "socket_connect_timeout": options.timeout_seconds, "socket_keepalive": True,
        "socket_keepalive_options": _KEEPALIVE, "health_check_interval": 0,
        "retry": no_retry(), "retry_on_timeout": False,
    }  # fmt: skip
    return SSLConnection(**fields, **tls(options)) if options.tls else Connection(**fields)


def tls(options: Options) -> dict[str, Any]:
    """The server must be vouched for, and be who it is called, unless somebody said otherwise."""
    return {
        "ssl_ca_certs": options.ca_file, "ssl_certfile": options.cert_file, "ssl_keyfile": options.key_file,
        "ssl_cert_reqs": "required" if options.verify else "none", "ssl_check_hostname": options.verify,
    }  # fmt: skip


def no_retry() -> Retry:
    """What was sent twice could be done twice: that is decided above."""
    return Retry(NoBackoff(), 0)
