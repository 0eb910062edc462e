"""Tenure on Redis or Valkey: broker and state on one server, behind Sentinel, or in a cluster.

For any number of machines. `connect` makes both sides over one shared store; nothing is opened before their `open`.
Used by `assembly.py`.
"""

from tenure.adapters.redis.broker import RedisBroker
from tenure.adapters.redis.options import RedisOptions, read_options
from tenure.adapters.redis.state import RedisState
from tenure.adapters.redis.store import RedisStore
from tenure.clock import SYSTEM_CLOCK, Clock

__all__ = ["RedisBroker", "RedisOptions", "RedisState", "connect", "read_options"]


def connect(
    options: RedisOptions, *, clock: Clock = SYSTEM_CLOCK, must_exist: bool = False
) -> tuple[RedisBroker, RedisState]:
    """Broker and state over the server that `options` name. `must_exist`: do not open an unused prefix."""
    store = RedisStore(options, clock, must_exist=must_exist)
    return RedisBroker(store), RedisState(store)
