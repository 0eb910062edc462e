"""A real cluster of three servers, for the tests: made by hand, without replicas."""

import atexit
import functools
import time
from typing import Any

from redis import Redis

from .redis_server import RedisServer

_SLOTS = 16384


class RedisCluster:
    """Three servers that share the slots."""

    def __init__(self, kind: str) -> None:
        """Start them, let them meet, and wait until each knows all slots."""
        options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
        self.servers = [RedisServer(kind, *options) for _ in range(3)]
        self.url = "redis+cluster://" + ",".join(f"127.0.0.1:{one.port}" for one in self.servers)
        lines: list[Any] = [Redis(port=one.port) for one in self.servers]
        for number, line in enumerate(lines):
            first, last = number * _SLOTS // 3, (number + 1) * _SLOTS // 3
            line.execute_command("CLUSTER", "ADDSLOTS", *range(first, last))
            line.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for server in self.servers[1:]:
            lines[0].execute_command("CLUSTER", "MEET", "127.0.0.1", server.port)
        for _ in range(1000):
            told = [line.execute_command("CLUSTER", "INFO") for line in lines]
            if all(_is_whole(one) for one in told):
                break
            time.sleep(0.02)
        for line in lines:
            line.close()

    def stop(self) -> None:
        """End all of them."""
        for server in self.servers:
            server.stop()


def _is_whole(told: object) -> bool:
    if isinstance(told, dict):
        return told.get("cluster_state") == "ok" and int(told.get("cluster_known_nodes", 0)) == 3
    text = told.decode() if isinstance(told, bytes) else str(told)
    return "cluster_state:ok" in text and "cluster_known_nodes:3" in text


@functools.cache
def shared_cluster(kind: str) -> RedisCluster:
    """One for the whole run."""
    cluster = RedisCluster(kind)
    atexit.register(cluster.stop)
    return cluster
