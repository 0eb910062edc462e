"""DOCX: the paragraphs and tables of a Word document, with its headings, by zipfile and ElementTree alone.

A zip archive may say that it holds more than any memory has, and XML may define entities that multiply. The archive is
read up to a limit, and a document type declaration, which Word never writes, is refused.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from xml.etree.ElementTree import Element, ParseError, fromstring

from tenure.documents.chunk import Part
from tenure.documents.errors import DocumentUnreadable
from tenure.documents.reading.limits import MIB

#: Bytes of XML. Word's documents of a thousand pages have about 30 MiB.
_MOST_XML = 128 * MIB
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def read_docx(name: str, data: bytes) -> Iterator[Part]:
    """Yield the paragraphs of a document; a row of a table is one paragraph."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            document = _xml(name, archive, "word/document.xml")
            styles = _xml(name, archive, "word/styles.xml", needed=False)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, RuntimeError) as error:
        raise DocumentUnreadable(f"{name} is not a DOCX that can be read: {error}. It was not indexed") from error
    body = None if document is None else document.find(f"{_W}body")
    if body is None:
        raise DocumentUnreadable(f"{name} is not a DOCX: it has no document body. It was not indexed")
    levels = _levels(styles)
    headings: list[str] = []
    for block in body:
        if block.tag == f"{_W}tbl":
            yield from (Part(row, tuple(headings)) for row in _rows(block) if row)
        elif block.tag == f"{_W}p" and (text := _text(block)):
            level = levels.get(_style(block))
            if level is None:
                yield Part(text, tuple(headings))
            else:
                headings = [*headings[: level - 1], text]


def _xml(name: str, archive: zipfile.ZipFile, member: str, *, needed: bool = True) -> Element | None:
    try:
        with archive.open(member) as file:
            raw = file.read(_MOST_XML + 1)
    except KeyError:
        if needed:
            raise DocumentUnreadable(f"{name} is not a DOCX: it has no {member}. It was not indexed") from None
        return None
    if len(raw) > _MOST_XML:
        raise DocumentUnreadable(f"{name} unpacks to more than {_MOST_XML // MIB} MiB of XML. It was not indexed")
    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:
        raise DocumentUnreadable(f"{name} declares XML entities, which Word does not. It was not indexed")
    try:
        return fromstring(raw)  # noqa: S314 - a declaration of entities is refused above
    except ParseError as error:
        raise DocumentUnreadable(f"{name} has XML that cannot be read: {error}. It was not indexed") from error


def _levels(styles: Element | None) -> dict[str, int]:
    """The level of each style that is one of headings."""
    levels = {"Title": 1, **{f"Heading{level}": level for level in range(1, 7)}}
    for style in () if styles is None else styles.iter(f"{_W}style"):
        label = style.find(f"{_W}name")
        named = re.fullmatch(r"heading ([1-6])", "" if label is None else label.get(f"{_W}val", "").lower())
        if named:
            levels[style.get(f"{_W}styleId", "")] = int(named[1])
    return levels


def _style(paragraph: Element) -> str:
    style = paragraph.find(f"{_W}pPr/{_W}pStyle")
    return "" if style is None else style.get(f"{_W}val", "")


def _text(block: Element) -> str:
    words = []
    for one in block.iter():
        if one.tag == f"{_W}t":
            words.append(one.text or "")
        elif one.tag in (f"{_W}tab", f"{_W}br", f"{_W}cr"):
            words.append(" ")
    return "".join(words).strip()


def _rows(table: Element) -> Iterator[str]:
    for row in table.iter(f"{_W}tr"):
        yield " | ".join(cell for cell in (_text(one) for one in row.findall(f"{_W}tc")) if cell)
