"""How much of a document is read. What is over a limit is refused with its figure; nothing is cut short."""

import msgspec

MIB = 1024 * 1024


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits for one document."""

    #: Bytes of the file.
    size: int = 64 * MIB
    pages: int = 5_000
    #: Characters of text. A book has about a million.
    characters: int = 20_000_000
    #: Memory of the process that reads PDF, DOCX and HTML.
    memory: int = 1024 * MIB
    #: Seconds in which it must have finished the next page.
    page_seconds: float = 60.0
    #: Seconds for the whole document.
    seconds: float = 1_800.0
