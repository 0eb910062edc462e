"""The process in which a PDF, DOCX or HTML file is read. Started by `sandbox.py`; never imported by it.

    python -m tenure.documents.reading.child NAME KIND LIMITS PARENT < file > parts

Each line that it prints is one JSON array: `["pages", n]`, `["part", {…}]`, `["page", n]` when a page is done,
`["unreadable", why]`, and `["end"]` when all is read: an output without it is of a process that died.
"""

import contextlib
import logging
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import msgspec

from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.docx import read_docx
from tenure.documents.reading.html import read_html
from tenure.documents.reading.kind import Kind
from tenure.documents.reading.limits import MIB, Limits
from tenure.documents.reading.pdf import read_pdf
from tenure.documents.reading.plain import decode

#: How soon it ends after its worker.
_LOOK_SECONDS = 0.5


def main() -> None:
    """Read one document from standard input."""
    name, kind = sys.argv[1], Kind(sys.argv[2])
    limits = msgspec.json.decode(sys.argv[3], type=Limits)
    threading.Thread(target=_end_with, args=(int(sys.argv[4]),), daemon=True).start()
    logging.disable()  # pypdf reports every oddity of a file
    sys.setrecursionlimit(2_000)
    data = sys.stdin.buffer.read()
    # On top of what the process and the file take already. macOS has no such limit: there the time alone is limited.
    with contextlib.suppress(ValueError, OSError):
        most = _address_space() + limits.memory
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CPU, (int(limits.seconds) + 1, int(limits.seconds) + 2))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        _read(name, kind, data, limits)
    except DocumentUnreadable as error:
        _say("unreadable", error.reason)
    except MemoryError:
        _say("unreadable", f"{name} takes more than {limits.memory // MIB:,} MiB to read. It was not indexed")
    except RecursionError:
        _say("unreadable", f"{name} is nested too deeply. It was not indexed")
    _say("end")


def _address_space() -> int:
    """Bytes that this process has reserved, which is what the limit counts. 0: not known here."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return 0


def _end_with(parent: int) -> None:
    """End once the worker has: a page may take a minute, and its text is of no use any more."""
    while os.getppid() == parent:
        time.sleep(_LOOK_SECONDS)
    os._exit(1)


def _read(name: str, kind: Kind, data: bytes, limits: Limits) -> None:
    characters = 0
    if kind is Kind.PDF:
        for pages, part in read_pdf(name, data, limits):
            if part.page == 1:
                _say("pages", pages)
            characters = _counted(name, characters + len(part.text), limits)
            _say("part", part)
            _say("page", part.page)
        return
    for part in read_docx(name, data) if kind is Kind.DOCX else read_html(decode(name, data)):
        characters = _counted(name, characters + len(part.text), limits)
        _say("part", part)


def _counted(name: str, characters: int, limits: Limits) -> int:
    if characters > limits.characters:
        most = f"{limits.characters:,}"
        raise DocumentUnreadable(f"{name} has more than {most} characters of text. It was not indexed")
    return characters


def _say(*words: Any) -> None:
    # What is no text, such as halves of characters in a PDF's fonts, cannot be stored either.
    line = msgspec.json.encode(_clean(words))
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _clean(words: tuple[Any, ...]) -> list[Any]:
    return [
        msgspec.structs.replace(one, text=_text(one.text)) if hasattr(one, "text")
        else _text(one) if isinstance(one, str) else one
        for one in words
    ]  # fmt: skip


def _text(text: str) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", " ")


if __name__ == "__main__":
    main()
