"""Plain text and Markdown."""

import re
from collections.abc import Iterator

from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentUnreadable

#: Tried in this order; the last one reads anything.
_ENCODINGS = ("utf-8-sig", "cp1252", "latin-1")
_HEADING = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t]*#*")
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")


def decode(name: str, data: bytes) -> str:
    """The text of a file: UTF-8, UTF-16 with its mark, or what old programs on Windows wrote."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\x00" in data[:4096]:
        raise DocumentUnreadable(f"{name} is not text: it has zero bytes. It was not indexed")
    for encoding in _ENCODINGS:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise AssertionError(encoding)  # latin-1 reads every byte


def read_text(text: str) -> Iterator[Part]:
    """Yield the paragraphs of a text."""
    for paragraph in re.split(r"\n[ \t]*\n", text):
        if paragraph.strip():
            yield Part(paragraph.strip())


def read_markdown(text: str) -> Iterator[Part]:
    """Yield the paragraphs of a Markdown page, each with the headings above it. A fenced block is one paragraph."""
    headings: list[str] = []
    lines: list[str] = []
    fence = ""
    for line in text.splitlines():
        opening = _FENCE.match(line)
        if fence:
            fence = "" if opening and opening[1].startswith(fence) else fence
        elif opening:
            fence = opening[1]
        elif heading := _HEADING.fullmatch(line.strip()):
            yield from _paragraph(lines, headings)
            headings = [*headings[: len(heading[1]) - 1], heading[2]]
            continue
        elif not line.strip():
            yield from _paragraph(lines, headings)
            continue
        lines.append(line)
    yield from _paragraph(lines, headings)


def _paragraph(lines: list[str], headings: list[str]) -> Iterator[Part]:
    text = "\n".join(lines).strip()
    lines.clear()
    if text:
        yield Part(text, tuple(headings))
