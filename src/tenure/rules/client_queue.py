"""The queue of a client: `{client}-tasks`, on every store; and the client of a queue. Pure.

A client's name is part of the names of queues, so it must be one that every store takes: a-z, 0-9 and single dashes, at
most 50 characters. Azure Storage Queues have the narrowest rule: 63 characters, of which `-tasks` takes 6 and `-poison`
(put behind the name for dead letters) 7. What a name may be does not depend on the store, so an installation can be
moved. In a namespace the queue is `{namespace}/{client}-tasks`.

`client_of_queue(queue_of_client(name)) == name` for every valid name.
"""

import re
from collections.abc import Iterable

from tenure.errors import BadArgument
from tenure.rules.queue_pattern import WILDCARD

LONGEST_CLIENT = 50
#: What is put behind a client's name.
CLIENT_SUFFIX = "-tasks"
#: Instead of a list of clients: all that there are, and those that come later.
ALL_CLIENTS = "all"

_CLIENT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PATTERN = re.compile(r"[a-z0-9*-]{1,50}")
_RULE = f"a client's name has a-z, 0-9 and single dashes between them, at most {LONGEST_CLIENT} characters"


def is_client(name: object) -> bool:
    """Whether that can name a client."""
    return isinstance(name, str) and len(name) <= LONGEST_CLIENT and _CLIENT.fullmatch(name) is not None


def wrong_client(name: object) -> str:
    """Say why that cannot name a client, and what can; empty: it can."""
    if is_client(name):
        return ""
    return f"it {_wrong(name)}; {_RULE}"


def _wrong(name: object) -> str:
    if not isinstance(name, str):
        return "is no text"
    if not name:
        return "is empty"
    if len(name) > LONGEST_CLIENT:
        return f"has {len(name)} characters"
    if name.isascii() and name != name.lower():
        return "has upper case, which Azure does not take"
    if odd := re.search(r"[^a-z0-9-]", name):
        return f"has {odd.group()!a}"
    return "begins or ends with a dash, or has two in a row"


def check_client(name: object) -> str:
    """The name, if it can name a client. Raises `BadArgument`."""
    if wrong := wrong_client(name):
        msg = f"client={name!a} cannot name a client: {wrong}"
        raise BadArgument(msg)
    return str(name)


def queue_of_client(client: str, namespace: str | None = None) -> str:
    """The queue of a client, as the broker knows it."""
    return f"{client}{CLIENT_SUFFIX}" if namespace is None else f"{namespace}/{client}{CLIENT_SUFFIX}"


def client_of_queue(queue: str) -> str | None:
    """The client whose queue that is, whatever its namespace. None: it is no client's queue."""
    name = queue.rpartition("/")[2]
    client = name.removesuffix(CLIENT_SUFFIX)
    return client if client != name and is_client(client) else None


def queues_of_clients(clients: str | Iterable[str]) -> tuple[str, ...]:
    """The queues of clients, without a namespace: of names, patterns such as `a*`, or `all`. Raises `BadArgument`.

    A text is one of them, or several with commas between them.
    """
    given = clients.split(",") if isinstance(clients, str) else clients
    queues = tuple(dict.fromkeys(map(_queues, given)))
    if not queues:
        raise BadArgument("clients names no client; give names, patterns such as a*, or all")
    return queues


def _queues(client: object) -> str:
    name = client.strip() if isinstance(client, str) else client
    if name == ALL_CLIENTS:
        return f"{WILDCARD}{CLIENT_SUFFIX}"
    if isinstance(name, str) and WILDCARD in name and _PATTERN.fullmatch(name):
        return f"{name}{CLIENT_SUFFIX}"
    return queue_of_client(check_client(name))
