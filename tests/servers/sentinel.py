"""A master, its replica, and the sentinels that watch them: a real failover takes about three seconds."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from tests.servers.asking import ServerError
from tests.servers.binary import Kind
from tests.servers.replication import until_replicated
from tests.servers.server import RedisServer, start_redis, start_somewhere, until

#: What the sentinels call the pair.
NAME = "main"
#: While nothing is the matter: so long that a machine that stands still does not make them give up on a master.
_PATIENT_MS = 60_000
#: Once a test has killed the master.
_DOWN_AFTER_MS = 1500


class Watched:
    """A master and a replica under the eyes of sentinels."""

    def __init__(self, master: RedisServer, replica: RedisServer, sentinels: Sequence[RedisServer]) -> None:
        """Made by `start_sentinel`. `master` and `replica` are what they were at the start."""
        self.name = NAME
        self.master = master
        self.replica = replica
        self.sentinels = tuple(sentinels)

    @property
    def url(self) -> str:
        """Names every sentinel, and the pair."""
        return f"redis+sentinel://{','.join(f'127.0.0.1:{one.port}' for one in self.sentinels)}/{self.name}"

    @property
    def current(self) -> RedisServer:
        """The master by the sentinels' account."""
        _, port = _pair(self.sentinels[0].ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name))
        return self.master if port == self.master.port else self.replica

    def until_failed_over(self) -> RedisServer:
        """Let them give up on a master that is gone, until the replica is it by everybody's account, its own included.

        It. It stays that. A sentinel that was held up for two seconds does nothing for the next thirty.
        """
        if not self.master.is_running:
            self._be_patient(_DOWN_AFTER_MS)
        until(self._is_failed_over, "the replica is the master")
        self._be_patient(_PATIENT_MS)
        return self.replica

    def _be_patient(self, milliseconds: int) -> None:
        for one in self.sentinels:
            one.ask("SENTINEL", "SET", self.name, "down-after-milliseconds", milliseconds)

    def _is_failed_over(self) -> bool:
        try:
            answers = [one.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self.name) for one in self.sentinels]
            return all(_pair(answer)[1] == self.replica.port for answer in answers) and _role(self.replica) == "master"
        except OSError:  # busy with it
            return False

    def stop(self) -> None:
        """Stop everything, those that watch first."""
        for server in (*self.sentinels, self.replica, self.master):
            server.stop()

    def __enter__(self) -> Self:
        """Itself, started."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.stop()


def start_sentinel(
    kind: Kind, folder: Path, *, sentinels: int = 1, appendonly: bool = False, config: Sequence[str] = ()
) -> Watched:
    """A master whose replica is in step, watched by sentinels who know of both and of each other."""
    with contextlib.ExitStack() as stack:
        master = stack.enter_context(start_redis(kind, folder, appendonly=appendonly, config=config))
        of_master = f"replicaof 127.0.0.1 {master.port}"
        replica = stack.enter_context(start_redis(kind, folder, appendonly=appendonly, config=[of_master, *config]))
        until_replicated(master, replica)
        quorum = sentinels // 2 + 1
        watching = [
            stack.enter_context(_start_watching(kind, folder, master.port, quorum=quorum)) for _ in range(sentinels)
        ]
        watched = Watched(master, replica, watching)
        until(lambda: all(_knows(one, sentinels - 1) for one in watching), "the sentinels know of everybody")
        stack.pop_all()
        return watched


def _start_watching(kind: Kind, folder: Path, port: int, *, quorum: int) -> RedisServer:
    lines = [
        "bind 127.0.0.1",
        f"sentinel monitor {NAME} 127.0.0.1 {port} {quorum}",
        f"sentinel down-after-milliseconds {NAME} {_PATIENT_MS}",
        f"sentinel failover-timeout {NAME} 4000",
    ]
    return start_somewhere(lambda free: RedisServer(kind, folder, free, lines, ["--sentinel"]))


def _knows(sentinel: RedisServer, others: int) -> bool:
    try:
        facts = sentinel.ask("SENTINEL", "MASTER", NAME)
        replicas = sentinel.ask("SENTINEL", "REPLICAS", NAME)
    except ServerError:
        return False
    told = _facts(facts)
    seen = [_facts(replica) for replica in replicas] if isinstance(replicas, list) else []
    in_step = [facts for facts in seen if facts.get("master-link-status") == "ok"]
    return told.get("num-other-sentinels") == str(others) and len(in_step) == 1


def _facts(answer: object) -> dict[str, str]:
    words = [str(word) for word in answer] if isinstance(answer, list) else []
    return dict(zip(words[::2], words[1::2], strict=True))


def _pair(answer: object) -> tuple[str, int]:
    if not isinstance(answer, list):
        msg = f"a sentinel does not know {NAME}"
        raise ServerError(msg)
    return str(answer[0]), int(answer[1])


def _role(server: RedisServer) -> str:
    answer = server.ask("ROLE")
    return str(answer[0]) if isinstance(answer, list) else ""
