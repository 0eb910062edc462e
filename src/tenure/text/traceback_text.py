"""Tracebacks made shorter for people: frames of the user's own code stay, frames of libraries are left out. Pure.

Works on the text, because a traceback is stored and sent as text. Used where a traceback is kept
(`runtime/verdicts.py`) and where it is shown (`tenure show`).
"""

import re

from tenure.text.plural import plural

#: `  File "/app/jobs.py", line 3, in work`, also inside an exception group, where lines begin with `|`.
_FRAME = re.compile(r'^([\s|+]*)File "([^"]*)", line \d+')
#: Where Python and installed packages are; on Windows with the other slash.
_LIBRARY = re.compile(r"[\\/](?:site|dist)-packages[\\/]|[\\/]lib[\\/]python3[^\\/]*[\\/]|^<frozen ", re.IGNORECASE)
_INSTALLED = re.compile(r"^.*[\\/](?:site|dist)-packages[\\/][^\\/]+")
_HEADER = "Traceback (most recent call last):"


def installed_package(path: str) -> str | None:
    """The folder of the installed package to which a file belongs. None: to none."""
    installed = _INSTALLED.match(path)
    return None if installed is None else installed[0]


def is_library(path: str, own: str | None) -> bool:
    """Whether a file is Python's or an installed package's; the package `own` counts as the user's."""
    return _LIBRARY.search(path) is not None and (not own or not path.startswith(own))


def without_library_frames(text: str) -> str:
    """Leave out the frames of libraries; a line says how many. Nothing is left out where no frame would stay.

    The first frame is the handler. Where the user's code is itself an installed package, that package counts as the
    user's own.
    """
    lines = text.splitlines()
    own = _own_package(lines)
    kept: list[str] = []
    left_out, stays = 0, False
    dropping: str | None = None
    for line in lines:
        frame = _FRAME.match(line)
        if frame is not None:
            dropping = frame[1] if is_library(frame[2], own) else None
            left_out += dropping is not None
            stays = stays or dropping is None
        elif dropping is not None and not line.startswith((f"{dropping} ", f"{dropping}[")):
            dropping = None  # the frame's own lines are over
        if dropping is not None:
            continue
        if left_out:
            kept.append(f"  … {plural(left_out, 'frame')} of libraries")
            left_out = 0
        kept.append(line)
    return "\n".join(kept) + "\n" if stays else text


def shorten(text: str, limit: int) -> str:
    """Shorten to `limit` characters and a mark: first without frames of libraries, then without the middle."""
    if len(text) <= limit:
        return text
    text = without_library_frames(text)
    if len(text) <= limit:
        return text
    head = limit // 2
    return f"{text[:head]}…{text[head - limit :]}"


def shorten_lines(text: str, head: int, tail: int) -> str:
    """Shorten by lines: keep the first `head` and the last `tail` without frames of libraries."""
    if len(text.splitlines()) <= tail:
        return text
    lines = without_library_frames(text).splitlines()
    return "\n".join(lines if len(lines) <= head + tail + 1 else [*lines[:head], "  …", *lines[-tail:]])


def _own_package(lines: list[str]) -> str | None:
    """The folder of the handler's package, where it is an installed one. None: it is not."""
    starts = [number for number, line in enumerate(lines) if line == _HEADER]
    frames = (_FRAME.match(line) for line in lines[starts[-1] if starts else 0 :])
    return installed_package(next((frame[2] for frame in frames if frame is not None), ""))
