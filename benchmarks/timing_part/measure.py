"""The measurements of learning; whoever calls repeats them. Times are CPU of this thread: others use the machine."""

import random
import time
from collections.abc import Callable

from tenure.timing.learned import Learned

MANY = 100_000


def _each(work: Callable[[], None], count: int) -> float:
    """Microseconds of one, of `count`."""
    start = time.thread_time()
    work()
    return (time.thread_time() - start) / count * 1e6


def _runs(*, sized: bool) -> list[tuple[float, float | None, float]]:
    chance = random.Random(1)
    sizes = [chance.lognormvariate(18.0, 2.0) if sized else None for _ in range(MANY)]
    return [
        ((1.0 if size is None else 5.0 + size * 1e-7) * chance.lognormvariate(0.0, 0.3), size, number * 0.01)
        for number, size in enumerate(sizes)
    ]


def observing(*, sized: bool) -> float:
    """Microseconds to tell of one run, those that count it and draw the line included."""
    runs = _runs(sized=sized)
    learned = Learned()

    def tell() -> None:
        observe = learned.observe
        for seconds, size, at in runs:
            observe(seconds, size, at=at)

    return _each(tell, MANY)


def choosing(*, sized: bool) -> float:
    """Microseconds to choose one lease, while runs go on coming in: those that look anew included."""
    runs = _runs(sized=sized)
    learned = Learned()
    for seconds, size, at in runs:
        learned.observe(seconds, size, at=at)

    def tell_only() -> None:
        for seconds, size, at in runs:
            learned.observe(seconds, size, at=MANY + at)

    def tell_and_choose() -> None:
        for seconds, size, at in runs:
            learned.observe(seconds, size, at=2 * MANY + at)
            learned.choose(size)

    told = _each(tell_only, MANY)
    return _each(tell_and_choose, MANY) - told
