"""A quota: how much of an installation one client may use, by its queue.

Defaults come from settings and hold for every client; what an operator sets for one client (`tenure client quota`)
counts instead, field by field, until it is cleared. `waiting` and `payload_bytes` are kept where messages are sent
(`client/send_quotas.py`, `Broker.send`), `running` and `per_second` where they are leased (`limit.py`).
"""

import re

import msgspec

from tenure.errors import BadArgument
from tenure.limit import Limit, limit_from, rate_text

_UNITS = {"": 1, "b": 1, "kb": 1_000, "mb": 1_000_000, "kib": 1 << 10, "mib": 1 << 20}
_SIZE = re.compile(r"(\d+) *([kmKM]?i?[bB])?")
_MOST_BYTES = 1 << 28
_MOST_WAITING = 1_000_000_000


class Quota(msgspec.Struct, frozen=True, kw_only=True):
    """The most of each. None: no quota of that kind."""

    #: Messages that wait, ready or delayed; further ones are refused with `quota_exceeded`.
    waiting: int | None = None
    #: Messages that run at once, over all workers.
    running: int | None = None
    #: Messages that start in a second, over all workers.
    per_second: float | None = None
    #: Bytes of one payload as JSON; larger ones are refused with `body_too_large`.
    payload_bytes: int | None = None

    @property
    def limit(self) -> Limit:
        """What is kept at lease."""
        return Limit(self.running, self.per_second)

    @property
    def is_none(self) -> bool:
        """Whether nothing is limited."""
        return self == NO_QUOTA

    def over(self, under: "Quota") -> "Quota":
        """Return this quota, with what it leaves open from `under`."""
        return Quota(
            waiting=under.waiting if self.waiting is None else self.waiting,
            running=under.running if self.running is None else self.running,
            per_second=under.per_second if self.per_second is None else self.per_second,
            payload_bytes=under.payload_bytes if self.payload_bytes is None else self.payload_bytes,
        )

    def __str__(self) -> str:
        """As people read it: `10,000 waiting, 5 running, 100/m, 65,536 bytes a payload`."""
        parts = [] if self.waiting is None else [f"{self.waiting:,} waiting"]
        parts += [] if self.running is None else [f"{self.running:,} running"]
        parts += [] if self.per_second is None else [rate_text(self.per_second)]
        parts += [] if self.payload_bytes is None else [f"{self.payload_bytes:,} bytes a payload"]
        return ", ".join(parts) or "no quota"


NO_QUOTA = Quota()


def quota_from(*, waiting: object = None, running: object = None, rate: object = None, payload: object = None) -> Quota:
    """The quota that people describe: `waiting=10_000`, `running=5`, `rate="100/m"`, `payload="64KiB"`.

    Raises `BadArgument`.
    """
    if waiting is not None and (
        not isinstance(waiting, int) or isinstance(waiting, bool) or not 0 <= waiting <= _MOST_WAITING
    ):
        raise BadArgument(f"waiting={waiting!r} is not a whole number from 0 to {_MOST_WAITING:,}")
    limit = limit_from(running=running, rate=rate)
    size = None if payload is None else bytes_from(payload)
    return Quota(waiting=waiting, running=limit.running, per_second=limit.per_second, payload_bytes=size)


def bytes_from(size: object) -> int:
    """Read a size: `65536`, `"64KiB"`, `"1MB"`. Raises `BadArgument`."""
    number = size if isinstance(size, int) and not isinstance(size, bool) else None
    if isinstance(size, str) and (found := _SIZE.fullmatch(size.strip())) is not None:
        number = int(found.group(1)) * _UNITS[(found.group(2) or "").lower()]
    if number is None or not 1 <= number <= _MOST_BYTES:
        raise BadArgument(f"payload={size!r} is not a size: write bytes, or such as 64KiB or 1MB, up to 256MiB")
    return number
