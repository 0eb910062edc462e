"""Servers that all tests of one process share, each test under a prefix of its own.

Started when they are first asked for, and stopped by their pids, files and all, when the process ends.
"""

import atexit
import functools
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.servers.binary import Kind
from tests.servers.cluster import Cluster, start_cluster
from tests.servers.server import RedisServer, start_redis


@functools.cache
def shared(kind: Kind) -> RedisServer:
    """One server of each kind."""
    folder = _folder()
    server = start_redis(kind, folder)
    _at_the_end(server.kill, folder)
    return server


@functools.cache
def shared_cluster(kind: Kind) -> Cluster:
    """One cluster of each kind."""
    folder = _folder()
    cluster = start_cluster(kind, folder)

    def kill() -> None:
        for node in cluster.nodes:
            node.kill()

    _at_the_end(kill, folder)
    return cluster


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="tenure-servers-"))


def _at_the_end(stop: Callable[[], object], folder: Path) -> None:
    def end() -> None:
        stop()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(end)
