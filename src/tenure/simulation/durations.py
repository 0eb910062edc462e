"""How long runs take: drawn from a distribution, or read from what was measured.

    fixed:90                  every run the same
    uniform:30:120            anything between
    exponential:45            mean
    lognormal:45:0.6          median, and sigma of the logarithm
    bimodal:30:900:0.1        two kinds, and the part of the second; each varies by a tenth
    profile:content-collector a shipped profile of a service
    sizes, sizes:0.15         the five files of the shipped size table, each as often, sigma of the logarithm

Measured ones come from a CSV (`seconds[,size]`) or from the journal's samples (`cli/commands/simulate/sources.py`
asks for them). Made into a `Scenario` by the command.
"""

import csv
import difflib
import math
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

import msgspec

from tenure.errors import BadArgument
from tenure.simulation.scenario import Work
from tenure.timing.profile import PROFILES, SIZE_ESTIMATES, Profile
from tenure.timing.span import EXAMPLES, seconds_in

#: No run takes less; a message that takes no time at all shows nothing.
LEAST_SECONDS = 0.001
#: Nor more: what is held for longer than this is a mistake in the input.
MOST_SECONDS = 30 * 86_400.0

_SPREAD = 0.1

Draw = Callable[[random.Random], Work]


def drawn(text: str, count: int, seed: int) -> tuple[Work, ...]:
    """`count` runs of the distribution that `text` names; raises `BadArgument`."""
    draw = _distribution(text)
    chance = random.Random(f"{seed}/durations")  # noqa: S311 - chance, not a secret
    return tuple(draw(chance) for _ in range(count))


def _distribution(text: str) -> Draw:
    name, *words = text.strip().split(":")
    known = _KNOWN.get(name)
    if known is None:
        near = difflib.get_close_matches(name, _KNOWN, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        msg = f"{text!r} is not a distribution{hint}; there are {', '.join(_KNOWN)}; nothing was simulated"
        raise BadArgument(msg)
    shape, make = known
    least, most = shape.count(":") - shape.count("[:"), shape.count(":")
    if not least <= len(words) <= most:
        msg = f"{text!r}: write {shape}; nothing was simulated"
        raise BadArgument(msg)
    try:
        return make(*words)
    except ValueError as error:
        msg = f"{text!r}: write {shape} ({error}); nothing was simulated"
        raise BadArgument(msg) from error


def _seconds(word: str) -> float:
    seconds = seconds_in(word)
    if seconds is None:
        msg = f"{word!r} is not a duration: {EXAMPLES}"
        raise ValueError(msg)
    return _between(seconds, word, LEAST_SECONDS, MOST_SECONDS)


def _number(word: str, *, most: float) -> float:
    if not _is_number(word):
        msg = f"{word!r} is not a number"
        raise ValueError(msg)
    return _between(float(word), word, 0.0, most)


def _between(value: float, word: str, least: float, most: float) -> float:
    if not least <= value <= most:
        msg = f"{word} is not between {least:g} and {most:,.10g}"
        raise ValueError(msg)
    return value


def _work(seconds: float, size: int | None = None) -> Work:
    return Work(min(max(LEAST_SECONDS, seconds), MOST_SECONDS), size)


def _fixed(seconds: str) -> Draw:
    work = _work(_seconds(seconds))
    return lambda _: work


def _uniform(low: str, high: str) -> Draw:
    least, most = _seconds(low), _seconds(high)
    return lambda chance: _work(chance.uniform(least, most))


def _exponential(mean: str) -> Draw:
    rate = 1.0 / _seconds(mean)
    return lambda chance: _work(chance.expovariate(rate))


def _lognormal(median: str, sigma: str) -> Draw:
    mu, spread = math.log(_seconds(median)), _number(sigma, most=5.0)
    return lambda chance: _work(chance.lognormvariate(mu, spread))


def _bimodal(short: str, long: str, part: str = "0.1") -> Draw:
    first, second, share = math.log(_seconds(short)), math.log(_seconds(long)), _number(part, most=1.0)
    return lambda chance: _work(chance.lognormvariate(second if chance.random() < share else first, _SPREAD))


def _profile(name: str) -> Draw:
    profile = PROFILES.get(name)
    if profile is None:
        msg = f"there is no profile {name!r}, but {', '.join(PROFILES)}"
        raise ValueError(msg)
    return lambda chance: _work(_of_profile(profile, chance.random()))


def _of_profile(profile: Profile, part: float) -> float:
    """The duration that `part` of the runs stay within, on straight lines between what the profile says."""
    points = ((0.0, profile.p1), (0.01, profile.p1), (0.5, profile.typical), (0.95, profile.p95), (1.0, profile.worst))
    for (low, fast), (high, slow) in pairwise(points):
        if part <= high:
            return fast + (slow - fast) * (part - low) / (high - low)
    return profile.worst


def _sizes(sigma: str = "0.15") -> Draw:
    spread = _number(sigma, most=5.0)

    def draw(chance: random.Random) -> Work:
        row = chance.choice(SIZE_ESTIMATES)
        return _work(row.seconds * chance.lognormvariate(0.0, spread), int(row.size_bytes))

    return draw


_KNOWN: dict[str, tuple[str, Callable[..., Draw]]] = {
    "fixed": ("fixed:SECONDS", _fixed),
    "uniform": ("uniform:LOW:HIGH", _uniform),
    "exponential": ("exponential:MEAN", _exponential),
    "lognormal": ("lognormal:MEDIAN:SIGMA", _lognormal),
    "bimodal": ("bimodal:SHORT:LONG[:SHARE]", _bimodal),
    "profile": ("profile:NAME", _profile),
    "sizes": ("sizes[:SIGMA]", _sizes),
}


class BadLine(msgspec.Struct, frozen=True):
    """A line of a CSV that says no duration."""

    number: int
    why: str


def read_csv(lines: Iterable[str]) -> tuple[list[Work], list[BadLine]]:
    """Runs from lines of `seconds[,size]`, with a header or without; and the lines that cannot be read."""
    works: list[Work] = []
    bad: list[BadLine] = []
    for number, row in enumerate(csv.reader(lines), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        try:
            works.append(_row(cells))
        except ValueError as error:
            if number == 1 and not _is_number(cells[0]):
                continue  # a header
            bad.append(BadLine(number, str(error)))
    return works, bad


def _row(cells: Sequence[str]) -> Work:
    if len(cells) > 2:  # noqa: PLR2004 - seconds and size
        msg = f"{len(cells)} columns, where seconds and perhaps a size should be"
        raise ValueError(msg)
    if not _is_number(cells[0]):
        msg = f"{cells[0]!r} is not a number of seconds"
        raise ValueError(msg)
    seconds = _between(float(cells[0]), cells[0], LEAST_SECONDS, MOST_SECONDS)
    if len(cells) == 1 or not cells[1]:
        return Work(seconds)
    if not _is_number(cells[1]) or not 0 <= float(cells[1]) < math.inf:
        msg = f"{cells[1]!r} is not a size in bytes"
        raise ValueError(msg)
    return Work(seconds, int(float(cells[1])))


def _is_number(text: str) -> bool:
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def replayed(recorded: Sequence[Work], count: int | None, seed: int) -> tuple[Work, ...]:
    """Return recorded durations in their order; for another number of messages, draw from them."""
    if count is None or count == len(recorded):
        return tuple(recorded)
    chance = random.Random(f"{seed}/replay")  # noqa: S311 - chance, not a secret
    return tuple(chance.choices(recorded, k=count))
