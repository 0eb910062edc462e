"""Sampling: which messages are followed in detail.

A message is chosen by its id alone, so all workers choose the same ones: of a message that runs three times on three
workers, all steps are there or none. Each sampled event says for how many messages it stands.
"""

import zlib

_ALL = 1 << 32


def sample_weight(id: str, rate: float) -> float | None:
    """How many messages this one represents, if of all of them the part `rate` is chosen. None: it is not chosen."""
    if rate >= 1.0:
        return 1.0
    if rate <= 0.0 or zlib.crc32(id.encode("utf-8", "surrogatepass")) >= rate * _ALL:
        return None
    return 1.0 / rate
