"""When the store was swept: where a sweep writes it down, and where those who look at leases read it.

A hash that belongs to no queue: `at`, microseconds of the store's time (as `time_of` in `lua/base.lua` counts them);
`wall`, Unix seconds of the sweeper; `every`, microseconds from one sweep to the next. Written by `returning.py`,
read by `lease_list.py`. Without it nobody has swept here.
"""

from tenure.adapters.redis.naming import Names


def sweep_key(names: Names) -> str:
    """The name of the hash."""
    return f"{names.common}sweep"
