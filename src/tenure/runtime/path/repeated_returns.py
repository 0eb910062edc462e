"""Repeated returns: how long a message has been given back for the same reason.

A message that no worker can run must not circulate for ever. Each give-back leaves its reason in the message's history,
so the next worker can count them.

Used by `unknown_tasks.py` (tasks that no worker knows) and `handling.py` (suspects that cannot be run alone, and
snoozes).
"""

from tenure.record import Ending
from tenure.verdict import SNOOZED

#: A message that was given back for one reason for so long becomes a dead letter.
GIVE_UP_SECONDS = 600.0


def given_back_for(history: tuple[Ending, ...], code: str, now: float) -> tuple[int, float]:
    """Count give-backs with this code since the last redrive, and the seconds that they span until `now`.

    A pause longer than `GIVE_UP_SECONDS` starts the count over: a worker could run it then, or no worker tried.
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
    """Count the snoozes since the last redrive. Each snooze carries its number."""
    most = 0
    for ending in reversed(history):
        if ending.how == "redriven":
            break
        if ending.reason is not None and ending.reason.code == SNOOZED:
            most = max(most, ending.reason.count)
    return most
