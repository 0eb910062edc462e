"""Reads a document in a process of its own, with limits on memory and time.

A file that was made to fill the memory, or to be read for ever, ends that process and not the worker. A process whose
worker was killed sees it and ends.
"""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.kind import Kind
from tenure.documents.reading.limits import Limits

#: One line is one part of a document.
_LONGEST_LINE = 256 * 1024 * 1024
_CHILD = "tenure.documents.reading.child"


async def read_apart(name: str, kind: Kind, data: bytes, limits: Limits) -> AsyncGenerator[tuple[str, Any]]:
    """Yield `("pages", n)`, `("part", Part)` and `("page", n)`. Raises `DocumentUnreadable`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", _CHILD, name, kind, msgspec.json.encode(limits).decode(),
        str(os.getpid()),
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        limit=_LONGEST_LINE,
    )  # fmt: skip
    assert process.stdin is not None  # noqa: S101 - asked for above
    assert process.stdout is not None  # noqa: S101
    writing = asyncio.create_task(_write(process.stdin, data))
    try:
        async with asyncio.timeout(limits.seconds):
            while True:
                line = await _next_line(process.stdout, limits)
                if not line:
                    raise DocumentUnreadable(
                        f"{name} ended the process that read it ({_how(await process.wait())}). It was not indexed"
                    )
                what, *said = msgspec.json.decode(line)
                if what == "end":
                    return
                if what == "unreadable":
                    raise DocumentUnreadable(said[0])
                yield what, msgspec.convert(said[0], Part) if what == "part" else said[0]
    except TimeoutError:
        raise DocumentUnreadable(
            f"{name} takes too long to read: over {limits.page_seconds:g} s for a page, or {limits.seconds:g} s for all"
            " of it. It was not indexed"
        ) from None
    finally:
        writing.cancel()
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def _write(stdin: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        stdin.write(data)
        await stdin.drain()
    stdin.close()


async def _next_line(stdout: asyncio.StreamReader, limits: Limits) -> bytes:
    async with asyncio.timeout(limits.page_seconds):
        return await stdout.readline()


def _how(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"exit code {code}"
