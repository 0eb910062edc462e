"""The moment of the last sweep: where a sweep stores it, and where readers of leases find it.

A hash that belongs to no queue: `at`, microseconds of the store's time (as `time_of` in `lua/base.lua` counts them);
`wall`, Unix seconds of the sweeper; `every`, microseconds from one sweep to the next. Written by `returning.py`,
read by `lease_list.py`. Without it no sweep has run here.
"""

from tenure.adapters.redis.naming import RedisNames


def sweep_key(names: RedisNames) -> str:
    """The name of the hash."""
    return f"{names.common}sweep"
