"""Rates and counts in the words in which advice is told; seconds are told by `why.py`. Pure."""

from tenure.plural import plural


def percent(part: float) -> str:
    """A rate for people."""
    hundred = 100.0 * part
    return f"{hundred:.1f} %" if hundred >= 0.1 else f"{hundred:.2g} %"  # noqa: PLR2004 - below, digits count


#: `1 run`, `2 runs`.
counted = plural
