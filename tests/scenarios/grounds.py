"""Grounds: where a stage stands. One for each kind of store, behind the same few words.

A scenario says on which ones it is played (`on`), and asks its ground only for what a store alone can know: its URL,
when it is safe to freeze a process, when there was a sweep, and how to damage a message behind everybody's back.
Without a word it is played on SQLite. In a soak (`soak.py`) what is played on some servers is played on all of them.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from tests.servers import Kind, start_redis

from .azure_ground import AzureGround
from .process import Process
from .redis_ground import RedisGround, Servers
from .sqlite_ground import SQLiteGround
from .sqs_ground import SqsGround

__all__ = [
    "EVERYWHERE",
    "SERVERS",
    "SQLITE",
    "Ground",
    "RedisGround",
    "SQLiteGround",
    "Servers",
    "Where",
    "make_ground",
    "on",
]


class Ground(Protocol):
    """What a stage asks of its store."""

    def url(self, options: str) -> str:
        """Where the messages are, for the test itself."""
        ...

    def url_of_processes(self, options: str) -> str:
        """The same, for the processes on the stage: there may be something in their way."""
        ...

    def freeze(self, process: Process) -> None:
        """Freeze a process at a moment when the others can go on."""
        ...

    def last_sweep(self) -> object:
        """Something that changes with each sweep."""
        ...

    def damage(self, queue: str, id: str, raw: bytes) -> None:
        """Write over the stored bytes of a message that waits."""
        ...

    def close(self) -> None:
        """Leave nothing behind."""
        ...


class Where(NamedTuple):
    """Which ground: `sqlite` or a kind of server; `own`: one that the scenario may harm, with its data on disk."""

    kind: str
    own: bool = False


SQLITE = Where("sqlite")
#: For faults that are at the heart of what is promised.
EVERYWHERE = ("sqlite", "valkey9", "redis62", "redis70")
SERVERS = EVERYWHERE[1:]
#: Where a soak wants its figures; empty: there is none.
FIGURES = os.environ.get("SOAK_FIGURES", "")


def on(*kinds: str, own: bool = False, soak: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Play a scenario on each of these, and on those of `soak` only there."""
    if FIGURES:
        more = SERVERS if set(kinds) & set(SERVERS) else soak
        kinds = (*kinds, *(kind for kind in more if kind not in kinds))
    wheres = [Where(kind, own and kind != "sqlite") for kind in kinds]
    return pytest.mark.parametrize("ground", wheres, indirect=True, ids=[where.kind for where in wheres])


def on_each(name: str, values: Mapping[str, Sequence[Any]], *, own: bool = False) -> pytest.MarkDecorator:
    """As `on`, with other values of one parameter on each: all of them on one, the most telling ones on the others."""
    if FIGURES:
        every = max(values.values(), key=len)
        values = dict.fromkeys((*values, *SERVERS), every)
    cases = [(Where(kind, own), value) for kind, some in values.items() for value in some]
    ids = [f"{where.kind}-{value}" for where, value in cases]
    return pytest.mark.parametrize(("ground", name), cases, indirect=["ground"], ids=ids)


def make_ground(where: Where, folder: Path, servers: Servers) -> Ground:
    """The ground of one scenario, which keeps its files in `folder`."""
    match where:
        case Where("sqlite"):
            return SQLiteGround(folder)
        case Where("azurite"):
            return AzureGround()
        case Where("sqs"):
            return SqsGround()
        case Where("valkey9" | "redis62" | "redis70" as found, own):
            kind: Kind = found
            if own:
                return RedisGround(start_redis(kind, folder, appendonly=True), "tenure", own=True)
            return RedisGround(servers.of(kind), f"stage-{os.urandom(6).hex()}")
    msg = f"there is no ground {where.kind!r}"
    raise ValueError(msg)
