"""The fingerprint of an error: what dead letters that died of the same thing have in common.

    task, code of the reason, class of the exception, and the place in the user's own code where it was raised

The place is the file, the function and the line of code itself, without its number: a deploy that only shifts lines
splits no group. Where there is no traceback, the sentence is used for the place, without its numbers, ids and quoted
words. Pure; the same on every store.
"""

import hashlib
import re

import msgspec

from tenure.text.traceback_text import without_library_frames
from tenure.verdict import Reason

#: Hex digits of a fingerprint.
_LENGTH = 16
_FRAME = re.compile(r'^[\s|+]*File "(?P<path>[^"]*)", line (?P<line>\d+)(?:, in (?P<function>.+))?$')
_HEADER = re.compile(r"^[\s|+]*(?:Exception Group )?Traceback \(most recent call last\):")
#: Quoted words, ids (long runs of hex digits, with or without dashes) and numbers.
_VARYING = re.compile(
    r"'[^']*'|\"[^\"]*\"|\b[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\b|\b(?=\w*\d)[0-9a-fA-F]{6,}\b|\d+(?:\.\d+)?"
)


class FailurePlace(msgspec.Struct, frozen=True):
    """The deepest frame of the user's own code."""

    file: str
    line: int
    function: str
    #: The line itself. Empty: the traceback does not have it.
    code: str

    def __str__(self) -> str:
        """Show it for people: `jobs.py:12 in resize`."""
        return f"{self.file}:{self.line}{f' in {self.function}' if self.function else ''}"


def fingerprint(task: str | None, reason: Reason | None) -> str:
    """Names the group that a dead letter belongs to."""
    place = None if reason is None else place_of(reason.traceback)
    code, error = ("unknown", "") if reason is None else (reason.code, reason.error)
    where = (place.file, place.function, place.code) if place is not None else (_sentence(reason),)
    text = "\0".join([task or "", code, error, *where])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


def place_of(traceback: str) -> FailurePlace | None:
    """Where the last of the chained exceptions was raised, as deep as the user's own code goes. None: not known."""
    if not traceback:
        return None
    lines = without_library_frames(traceback).splitlines()
    begins = [number for number, line in enumerate(lines) if _HEADER.match(line)]
    found = None
    for number in range(begins[-1] if begins else 0, len(lines)):
        frame = _FRAME.match(lines[number])
        if frame is not None:
            below = lines[number + 1].strip(" |+") if number + 1 < len(lines) else ""
            code = "" if _FRAME.match(f"  {below}") or not lines[number + 1 : number + 2] else below
            file = re.split(r"[\\/]", frame["path"])[-1]
            found = FailurePlace(file, int(frame["line"]), frame["function"] or "", code)
    return found


def _sentence(reason: Reason | None) -> str:
    text = "" if reason is None else reason.text.partition("\n")[0]
    return _VARYING.sub("#", text)
