"""Tenure on Redis or Valkey: broker and state on one server, behind Sentinel, or in a cluster.

For any number of machines. `connect` makes both sides over one shared store; nothing is opened before their `open`.
Used by `assembly.py`.
"""

from tenure.adapters.redis.broker import RedisBroker
from tenure.adapters.redis.options import Options, read_options
from tenure.adapters.redis.state import RedisState
from tenure.adapters.redis.store import Store
from tenure.clock import SYSTEM_CLOCK, Clock

__all__ = ["Options", "RedisBroker", "RedisState", "connect", "read_options"]


def connect(
    options: Options, *, clock: Clock = SYSTEM_CLOCK, must_exist: bool = False
) -> tuple[RedisBroker, RedisState]:
    """Broker and state over the server that `options` name. `must_exist`: nobody has used the prefix? Do not open."""
    store = Store(options, clock, must_exist=must_exist)
    return RedisBroker(store), RedisState(store)
