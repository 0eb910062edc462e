"""Why a lease is as long as it is, in one sentence: `72 s: q99 41 s of 1,240 runs × 1.75, size 2.1 GB`.

The parts are kept with the number, the sentence is made on demand: a lease is chosen for every message, and
hardly ever explained. Pure.
"""

import math

import msgspec

#: From this many seconds on, fractions are not shown.
_WHOLE_FROM = 10.0
_MILLISECOND = 0.001
_BINARY = ((2.0**30, "GiB"), (2.0**20, "MiB"))
_DECIMAL = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


class Why(msgspec.Struct, frozen=True, gc=False):
    """The parts that a lease was made of. None: there was no such part."""

    margin: float
    #: What 99 of 100 runs stay within, and from how many runs.
    q99: float | None = None
    runs: int = 0
    #: What was believed beforehand, and by what.
    prior: float | None = None
    source: str = ""
    #: For evidence of fewer than a hundred runs. 1: there are enough.
    caution: float = 1.0
    #: What stands where nothing is known.
    default: float | None = None
    #: What the evidence would have it be, where the lease follows slowly or not at all.
    wanted: float | None = None
    #: A run that took far longer than all others, and is not counted in full before it happens again.
    doubted: float | None = None

    def sentence(self, seconds: float, size: float | None = None) -> str:
        """Explain the lease in words."""
        text = self._evidence()
        if size is not None:
            text += f", size {amount(size)}"
        if self.doubted is not None:
            text += f", one of {duration(self.doubted)} not counted in full until it happens again"
        made = self._made()
        if self.wanted is not None and seconds != math.ceil(self.wanted):
            text += f"; that is {duration(math.ceil(self.wanted))}, and it "
            text += "falls slowly" if self.wanted < 0.9 * seconds else "stands while it is off by less than a tenth"
        elif made is not None and seconds != math.ceil(made - 1e-6) and self.wanted is None:
            bound = "the least is" if made < seconds else "the broker's bound is"
            text += f"; that is {duration(math.ceil(made))}, and {bound} {duration(seconds)}"
        return f"{duration(seconds)}: {text}"

    def _evidence(self) -> str:
        if self.default is not None:
            return f"nothing is known of it, the default {duration(self.default)} × {self.caution:g}"
        believed = "" if self.prior is None else f"{duration(self.prior)} by {self.source}"
        if self.q99 is None:
            return f"{believed} × {self.caution:g} × {self.margin:g}"
        known = f"q99 {duration(self.q99)} of {self.runs:,} {'run' if self.runs == 1 else 'runs'}"
        doubt = f" × {self.caution:.2f} for so few" if self.caution > 1.0 else ""
        return f"{known}{' and ' if believed else ''}{believed}{doubt} × {self.margin:g}"

    def _made(self) -> float | None:
        """Return the product of the parts, where they are as simple as that."""
        if self.default is not None:
            return self.default * self.caution
        if self.q99 is None:
            return None if self.prior is None else self.prior * self.caution * self.margin
        return self.q99 * self.caution * self.margin if self.prior is None else None


def duration(seconds: float) -> str:
    """Format seconds for people: `1,240 s`, `41 s`, `4.2 s`, `0.25 s`, `<1 ms`."""
    if 0 < seconds < _MILLISECOND:
        return "<1 ms"
    if seconds >= _WHOLE_FROM or seconds == int(seconds):
        return f"{seconds:,.0f} s"
    return f"{seconds:.2g} s"


def amount(size: float) -> str:
    """Format a number of bytes for people: `2.1 GB`; below a thousand as it is.

    What is a round number of MiB or GiB was written as one, and is shown as one: `2 GiB` rather than `2.15 GB`.
    """
    for unit, name in _BINARY:
        if size >= unit and size / unit == float(f"{size / unit:.3g}"):
            return f"{size / unit:.3g} {name}"
    for unit, name in _DECIMAL:
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size:g}"
