"""Checking: what is looked at when a place is opened, before anything is written to it.

A server that cannot do it, or a user who may not, is an error. A server that works but may lose messages is a
finding, and is logged once a process. Used by `store.py`.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from tenure.adapters.redis import faults
from tenure.adapters.redis.examination import find_eviction
from tenure.adapters.redis.naming import RedisNames
from tenure.adapters.redis.options import RedisOptions
from tenure.errors import BrokerError, ConfigurationError
from tenure.finding import Finding

logger = logging.getLogger("tenure.redis")

_OLDEST = (6, 2)
_WAITAOF_SINCE = (7, 2)
#: The findings that this process has logged: each of its stores would find the same.
_TOLD: set[Finding] = set()


async def check(
    command: Callable[..., Awaitable[Any]], options: RedisOptions, names: RedisNames, *, must_exist: bool
) -> tuple[bool, list[Finding]]:
    """Whether the server has WAITAOF, and what is wrong with how it is set up."""
    info = await command("INFO", "server")
    said = dict(line.partition(":")[::2] for line in bytes(info).decode(errors="replace").splitlines())
    version = said.get("redis_version", "0")
    number = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if number < _OLDEST:
        raise faults.too_old(options.place, version)
    # The last thing that a script does, and what new users may not do: better known before the first one.
    await command("PUBLISH", f"{names.common}opened", "")
    if must_exist and not await command("EXISTS", *names.signs):
        raise faults.missing(options.place, options.prefix)
    findings = [finding async for finding in _findings(command, options)]
    for one in findings:
        if one not in _TOLD:
            _TOLD.add(one)
            logger.warning("%s: %s. %s [%s]", one.subject, one.evidence, one.remedy, one.id)
    return number >= _WAITAOF_SINCE, findings


async def _findings(command: Callable[..., Awaitable[Any]], options: RedisOptions) -> AsyncIterator[Finding]:
    try:
        _, policy = await command("CONFIG", "GET", "maxmemory-policy")
    except (ConfigurationError, BrokerError, ValueError):
        return  # not every user may ask, and hosted servers do not answer
    for one in find_eviction(options.place, policy.decode()):
        yield one
