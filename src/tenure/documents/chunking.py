"""Chunks: pieces of a document that are found as a whole, cut by structure first and by size second.

Paragraphs below one heading are joined up to the size. A heading, or a page of a PDF, begins a new chunk only when the
one before is large enough to stand alone. A paragraph that is too large is cut between sentences, then between words.
"""

import re
from collections.abc import Iterable, Iterator

from tenure.documents.chunk import Chunk, Part

#: Characters. About 130 words: of 500 to 2,000, questions about our own pages were answered best with it.
SIZE = 800
#: A chunk of less is joined with what comes below the next heading of the same chapter.
_LEAST = 200
_SENTENCE = re.compile(r"(?<=[.!?…])[\s]+(?=\S)|\n+")


def chunks_of(parts: Iterable[Part], size: int = SIZE) -> Iterator[Chunk]:
    """Yield the chunks of a document, numbered from 0."""
    number = 0
    texts: list[str] = []
    first: Part | None = None
    length = 0
    for part in parts:
        for text in _pieces(part.text.strip(), size):
            is_full = length + len(text) > size
            is_elsewhere = first is not None and part.headings != first.headings and length >= _LEAST
            if first is not None and (is_full or is_elsewhere):
                yield _chunk(number, texts, first)
                number, texts, first, length = number + 1, [], None, 0
            first = first or part
            texts.append(_below(part, first, texts, text))
            length += len(texts[-1]) + 2
    if first is not None:
        yield _chunk(number, texts, first)


def _below(part: Part, first: Part, texts: list[str], text: str) -> str:
    """A text, with its heading above it where the chunk began below another."""
    if part.headings == first.headings or not part.headings or part.headings[-1] in "\n".join(texts):
        return text
    return f"{part.headings[-1]}\n\n{text}"


def _chunk(number: int, texts: list[str], first: Part) -> Chunk:
    return Chunk(number, "\n\n".join(texts), " › ".join(first.headings), first.page)


def _pieces(text: str, size: int) -> Iterator[str]:
    """Cut a text that is too large, between sentences where there are any."""
    if len(text) <= size:
        if text:
            yield text
        return
    piece = ""
    for sentence in _SENTENCE.split(text):
        for words in _short(sentence, size):
            if piece and len(piece) + 1 + len(words) > size:
                yield piece
                piece = ""
            piece = f"{piece} {words}" if piece else words
    if piece:
        yield piece


def _short(sentence: str, size: int) -> Iterator[str]:
    """Cut a sentence that is larger than a chunk, between words, or where there are none anywhere."""
    while len(sentence) > size:
        at = sentence.rfind(" ", size // 2, size)
        at = size if at < 0 else at
        yield sentence[:at].strip()
        sentence = sentence[at:].strip()
    if sentence:
        yield sentence
