"""How long a message has been given back for one and the same reason.

A message that no worker can run must not go round for ever. Each give-back leaves its reason in the message's history,
so whoever meets it next can count them.

Used by `strangers.py` (tasks that no worker knows) and `handling.py` (suspects that cannot be run alone, and snoozes).
"""

from tenure.record import Ending
from tenure.verdict import SNOOZED

#: What was given back for one reason for so long is put aside.
GIVE_UP_SECONDS = 600.0


def given_back_for(history: tuple[Ending, ...], code: str, now: float) -> tuple[int, float]:
    """How often, and for how many seconds until `now`, it was given back with this code since it was last redriven.

    A pause longer than `GIVE_UP_SECONDS` begins anew: somebody could run it then, or nobody looked.
    """
    met, since = 0, now
    for ending in reversed(history):
        if ending.how == "redriven":
            break
        if ending.how == "given_back" and ending.reason is not None and ending.reason.code == code:
            if since - ending.at > GIVE_UP_SECONDS:
                break
            met, since = met + 1, ending.at
    return met, now - since


def snoozes_in(history: tuple[Ending, ...]) -> int:
    """How often the message was snoozed since it was last redriven. Each snooze carries its number."""
    most = 0
    for ending in reversed(history):
        if ending.how == "redriven":
            break
        if ending.reason is not None and ending.reason.code == SNOOZED:
            most = max(most, ending.reason.count)
    return most
