"""A real cluster: three masters that share the slots between them."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.servers.asking import ServerError
from tests.servers.binary import Kind
from tests.servers.server import RedisServer, start_somewhere, until

_SLOTS = 16_384
#: How long a node may be silent: while they get to know each other, which goes by it; and from then on, so that a
#: machine that stands still makes none of them give up on another.
_QUICK_MS, _PATIENT_MS = 2000, 30_000
#: How often they may be told of each other.
_MEETINGS = 6


class Cluster:
    """The nodes of one cluster."""

    def __init__(self, nodes: Sequence[RedisServer]) -> None:
        """Made by `start_cluster`."""
        self.nodes = tuple(nodes)

    @property
    def url(self) -> str:
        """Names every node."""
        return f"redis+cluster://{','.join(f'127.0.0.1:{node.port}' for node in self.nodes)}"

    @property
    def ports(self) -> list[int]:
        """Of the nodes, in order of their slots."""
        return [node.port for node in self.nodes]

    def node_of(self, key: str) -> RedisServer:
        """The node that keeps a key. Asked, because a test may have moved its slot."""
        for node in self.nodes:
            try:
                node.ask("EXISTS", key)
            except ServerError as error:
                if not str(error).startswith("MOVED"):
                    raise
            else:
                return node
        msg = f"no node keeps {key}"
        raise LookupError(msg)

    def give_up_soon(self) -> None:
        """From now on a node that is silent for two seconds is taken to have failed."""
        for node in self.nodes:
            node.ask("CONFIG", "SET", "cluster-node-timeout", _QUICK_MS)

    def stop(self) -> None:
        """Stop every node."""
        for node in self.nodes:
            node.stop()

    def __enter__(self) -> Self:
        """Itself, started."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()


def start_cluster(
    kind: Kind, folder: Path, *, nodes: int = 3, appendonly: bool = False, config: Sequence[str] = ()
) -> Cluster:
    """A cluster in which every node knows that all is well."""
    kept = ["appendonly yes", "appendfsync always"] if appendonly else ["appendonly no"]
    lines = [
        "bind 127.0.0.1", 'save ""', *kept,
        "cluster-enabled yes", f"cluster-node-timeout {_QUICK_MS}", *config,
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        make = lambda free: RedisServer(kind, folder, free, lines)  # noqa: E731
        cluster = Cluster([stack.enter_context(start_somewhere(make)) for _ in range(nodes)])
        _join(cluster.nodes)
        stack.pop_all()
        return cluster


def _join(nodes: Sequence[RedisServer]) -> None:
    first = nodes[0]
    for number, node in enumerate(nodes):
        # Distinct from the start, or the nodes settle it between them, which takes a while.
        node.ask("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        node.ask("CLUSTER", "ADDSLOTS", *_slots(number, len(nodes)))
    for left in reversed(range(_MEETINGS)):
        for node in nodes[1:]:
            first.ask("CLUSTER", "MEET", "127.0.0.1", node.port)
        try:
            until(lambda: all(_is_well(node, len(nodes)) for node in nodes), "every node says cluster_state:ok", 10.0)
        except TimeoutError:  # a greeting that nobody answers in time is forgotten
            if not left:
                raise
        else:
            break
    for node in nodes:
        node.ask("CONFIG", "SET", "cluster-node-timeout", _PATIENT_MS)


def _slots(number: int, count: int) -> list[int]:
    """The slots of one node: those for which `Cluster.node_of` gives its number."""
    return [slot for slot in range(_SLOTS) if slot * count // _SLOTS == number]


def _is_well(node: RedisServer, count: int) -> bool:
    told = str(node.ask("CLUSTER", "INFO")).split()
    return {"cluster_state:ok", f"cluster_known_nodes:{count}", f"cluster_size:{count}"} <= set(told)
