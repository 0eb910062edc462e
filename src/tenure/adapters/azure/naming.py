"""Names: of queues and containers, as the service wants them, and of rows.

A queue's name must be one the service takes (3 to 63 of a-z, 0-9 and single dashes); it is not changed in secret, but
refused. Ids may be anything, so those that a row's key cannot hold are written as a digest.
"""

import hashlib
import re
import zlib

from tenure.claim import Scope
from tenure.errors import BadSetting

_SHORTEST, _LONGEST = 3, 63
#: Of an id, a task or a key: each must fit into a field, and into a query.
LONGEST_NAME = 4_000
#: What is put behind a queue's name for its dead letters.
POISON = "-poison"
#: Of a container, too.
_QUEUE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\Z")
_PLAIN = re.compile(r"[A-Za-z0-9_.:-]{1,200}\Z")


def queue_name(prefix: str, queue: str) -> str:
    """The service's name of a queue. Raises `BadSetting`."""
    name = f"{prefix}-{queue}" if prefix else queue
    if not _QUEUE.match(name) or not _SHORTEST <= len(name) <= _LONGEST - len(POISON):
        msg = (
            f"Azure takes no queue of the name {name!r}; nothing was sent. Names are of a-z, 0-9 and single dashes, 3 "
            f"to {_LONGEST - len(POISON)} of them ({POISON} is put behind it for dead letters)"
        )
        raise BadSetting(msg)
    return name


def is_container(name: str) -> bool:
    """Whether the service takes a container of that name."""
    return _QUEUE.match(name) is not None and _SHORTEST <= len(name) <= _LONGEST


def is_plain(id: str) -> bool:
    """Whether an id is a row's key as it is."""
    return _PLAIN.match(id) is not None


def row_id(id: str) -> str:
    """The part of a row's key that stands for a message."""
    return id if is_plain(id) else f"~{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()}"


def part_of(word: str, partitions: int) -> str:
    """Which part of the table has the rows of `word`."""
    return f"{zlib.crc32(word.encode('utf-8', 'surrogatepass')) % partitions:02d}"


def scope_id(scope: Scope) -> str:
    """The part of a row's key that stands for a scope."""
    text = "\0".join((scope.queue, scope.task, scope.key, str(scope.generation)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
