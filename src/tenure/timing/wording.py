"""Rates and counts in the words of advice; seconds are worded by `why.py`. Pure."""

from tenure.text.plural import plural


def percent(part: float) -> str:
    """Format a rate for people."""
    hundred = 100.0 * part
    return f"{hundred:.1f} %" if hundred >= 0.1 else f"{hundred:.2g} %"  # noqa: PLR2004 - below, digits count


#: `1 run`, `2 runs`.
counted = plural
