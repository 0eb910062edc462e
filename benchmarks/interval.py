"""A figure with its interval: what many rounds say, and how closely. Used by parts whose bar is a few per cent.

The interval is a bootstrap's: the same figure of rounds drawn anew from those that there were, a thousand times; 95 of
a hundred of them lie within it. Drawn by a fixed seed, so that the same rounds tell the same.
"""

import random
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

DRAWS = 1_000
_OUTSIDE = 0.025

T = TypeVar("T")


class Interval(NamedTuple):
    """A figure, and between what it lies."""

    value: float
    low: float
    high: float


def interval_of(rounds: Sequence[T], figure: Callable[[Sequence[T]], float]) -> Interval:
    """What `figure` makes of the rounds."""
    chance = random.Random(1)
    drawn = sorted(figure(chance.choices(rounds, k=len(rounds))) for _ in range(DRAWS))
    outside = int(_OUTSIDE * DRAWS)
    return Interval(figure(rounds), drawn[outside], drawn[-outside - 1])
