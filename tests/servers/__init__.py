"""Real Redis and Valkey servers for tests: single, as a cluster, or watched by Sentinel.

The binaries come with packages (`binary.py`), so nothing needs to be installed by hand. Each server has a free
loopback port and a folder of its own, answers before it is handed out, and ends with the test process at the latest.
"""

from tests.servers.asking import ServerError, ask
from tests.servers.binary import KINDS, Kind, NotInstalled, binary, installed
from tests.servers.cluster import Cluster, start_cluster
from tests.servers.proxy import Proxy
from tests.servers.sentinel import Watched, start_sentinel
from tests.servers.server import RedisServer, start_redis

__all__ = [
    "KINDS",
    "Cluster",
    "Kind",
    "NotInstalled",
    "Proxy",
    "RedisServer",
    "ServerError",
    "Watched",
    "ask",
    "binary",
    "installed",
    "start_cluster",
    "start_redis",
    "start_sentinel",
]
