"""A peer: another way to do the same work. What its folder under `peers/` says, read from `peer.toml`.

Each has two configurations: `fast`, the best sensible one for speed, and `safe`, as its own documentation advises for
work that must not be lost. Both are printed beside the figures, each with what it guarantees.
"""

import tomllib
from pathlib import Path
from typing import Literal, NamedTuple

PEERS = Path(__file__).parent / "peers"

Mode = Literal["fast", "safe"]
#: Where the messages are.
Store = Literal["redis", "sqlite", "sqs", "azure"]
#: In what it is written; `here`: it runs in the environment of this project.
Language = Literal["python", "node", "here"]


class Setup(NamedTuple):
    """One configuration."""

    #: The command of a worker.
    worker: list[str]
    how: str
    guarantee: str
    #: How many messages a process runs at a time. For the speed of `safe`, as many as in `fast`.
    slots: int
    #: In so many processes: by one command where it has a word for it, else by so many. For the speed of `safe`
    #: likewise as many as in `fast`.
    processes: int = 1
    #: It is the same as `fast` but for the slots, so its speed is the same.
    same_speed: bool = False

    def scaled_as(self, other: "Setup") -> "Setup":
        """The same with the slots and processes of another."""
        return self._replace(slots=other.slots, processes=other.processes)

    @property
    def told(self) -> str:
        """How it is set up."""
        return self.how.format(slots=self.slots, processes=self.processes)

    @property
    def commands(self) -> int:
        """How often its command is started."""
        return 1 if any("{processes}" in word for word in self.worker) else self.processes


class Peer(NamedTuple):
    """What is known about it without running it."""

    key: str
    name: str
    #: Whose version is printed.
    package: str
    language: Language
    fast: Setup
    #: None: it is in the speed table only.
    safe: Setup | None
    #: Patterns of the keys under which it keeps what failed for good.
    dead: tuple[str, ...] = ()

    @property
    def folder(self) -> Path:
        """Where its program is."""
        return PEERS / self.key

    def setup(self, mode: Mode) -> Setup:
        """The configuration of this name."""
        found = self.fast if mode == "fast" else self.safe
        if found is None:
            raise LookupError(f"{self.name} has no configuration {mode!r}")
        return found


class Contender(NamedTuple):
    """A peer on a store: a row of a table."""

    peer: Peer
    store: Store

    @property
    def modes(self) -> list[Mode]:
        """The configurations whose speeds differ."""
        safe = self.peer.safe
        return ["fast"] if safe is None or safe.same_speed else ["fast", "safe"]

    @property
    def key(self) -> str:
        """How `--only` calls it."""
        return self.peer.key if self.peer.key != "tenure" else f"tenure_{self.store}"

    @property
    def name(self) -> str:
        """For people."""
        return self.peer.name if self.peer.key != "tenure" else f"Tenure, {_STORES[self.store]}"


_STORES: dict[Store, str] = {"redis": "Redis", "sqlite": "SQLite", "sqs": "SQS", "azure": "Azure Queues"}


def read_peer(key: str) -> Peer:
    """What stands in its `peer.toml`."""
    found = tomllib.loads((PEERS / key / "peer.toml").read_text(encoding="utf-8"))
    safe = Setup(**found["safe"]) if "safe" in found else None
    return Peer(
        key,
        found["name"],
        found["package"],
        found.get("language", "python"),
        Setup(**found["fast"]),
        safe,
        tuple(found.get("dead", ())),
    )


def contenders(*stores: Store) -> list[Contender]:
    """Tenure on these stores, then the bare loops, then the others by name."""
    peers = {path.parent.name: read_peer(path.parent.name) for path in sorted(PEERS.glob("*/peer.toml"))}
    tenure = peers.pop("tenure")
    loops: list[Contender] = [
        Contender(peers.pop("bare_redis"), "redis"),
        Contender(peers.pop("bare_sqlite"), "sqlite"),
    ]
    others = sorted(peers.values(), key=lambda peer: peer.name.lower())
    return [*(Contender(tenure, store) for store in stores), *loops, *(Contender(peer, "redis") for peer in others)]


def chosen(found: list[Contender], only: list[str]) -> list[Contender]:
    """Those that `--only` names: by their key, or by that of their peer. Raises ValueError for a name of none."""
    known = {name for one in found for name in (one.key, one.peer.key)}
    if strange := sorted(set(only) - known):
        raise ValueError(f"there is no {strange[0]!r}; there are {', '.join(sorted(known))}")
    return [one for one in found if not only or {one.key, one.peer.key} & set(only)]
