"""Seconds, rates and counts in the words in which advice and reasons are told. Pure."""


def spoken(seconds: float) -> str:
    """A number of seconds for people, who compare it with a setting."""
    if seconds >= 10:  # noqa: PLR2004 - below ten a tenth matters
        return f"{seconds:,.0f} s"
    return f"{seconds:.3g} s"


def percent(part: float) -> str:
    """A rate for people."""
    hundred = 100.0 * part
    return f"{hundred:.1f} %" if hundred >= 0.1 else f"{hundred:.2g} %"  # noqa: PLR2004 - below, digits count


def counted(number: int, noun: str) -> str:
    """`1 run`, `2 runs`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
