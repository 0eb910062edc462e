"""The names of what a live run makes: the name alone says that it is ours, of which run it is, and how old.

    tlive  hov5s  k3fq  x81b0c  -mail
    mark   minute run   test    the queue; `-state`: the table of DynamoDB; `tenure`: table and container of Azure

Services do not all tell when a thing was made, and Azure's prefix takes 20 characters. Used by `harness.py` and
`sweeping.py`.
"""

import os
import re
import secrets
import string

from tenure.clock import SYSTEM_CLOCK

MARK = "tlive"
#: What other runs have made and left is removed when it is so old: by then nobody works with it.
OLD_SECONDS = 3600.0

#: Tells the processes of one run (`pytest -n`) its name.
_RUN = "TENURE_LIVE_RUN"
_DIGITS = string.digits + string.ascii_lowercase
_OURS = re.compile(rf"{MARK}(?P<minute>[0-9a-z]{{5}})[0-9a-z]{{10}}(-.+|tenure)")
#: The first minute of 2026: what claims to be older was named by somebody else.
_FIRST_MINUTE = 29_453_760


def name_the_run() -> str:
    """What all names of this run begin with; those of the processes that it starts, too."""
    return os.environ.setdefault(_RUN, MARK + _minute_now() + _random(4))


def new_name() -> str:
    """Of one test; nobody else has it."""
    return name_the_run() + _random(6)


def is_of_the_run(name: str) -> bool:
    """Whether this run has made it."""
    return _OURS.fullmatch(name) is not None and name.startswith(name_the_run())


def is_old(name: str) -> bool:
    """Whether some run has made it, more than an hour ago."""
    found = _OURS.fullmatch(name)
    if found is None:
        return False
    minute = int(found["minute"], 36)
    return _FIRST_MINUTE <= minute < (SYSTEM_CLOCK.wall() - OLD_SECONDS) / 60 - 1


def _minute_now() -> str:
    return written(int(SYSTEM_CLOCK.wall() / 60))


def written(minute: int) -> str:
    """A minute since 1970 in five characters: enough until 2084."""
    digits = ""
    for _ in range(5):
        minute, digit = divmod(minute, 36)
        digits = _DIGITS[digit] + digits
    return digits


def _random(length: int) -> str:
    return "".join(secrets.choice(_DIGITS) for _ in range(length))
